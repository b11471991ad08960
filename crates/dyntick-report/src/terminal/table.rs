// SPDX-License-Identifier: GPL-2.0-only
//! Tables as lines of text that fit.

use super::text::{longest_word, pair, wrap};
use crate::align::aligned;
use crate::{Align, Cell, Column, Table};
use unicode_width::UnicodeWidthStr;

const BETWEEN: usize = 2;
/// The width below which a column of texts is hard to read: optional columns are left out first.
const COMFORTABLE: usize = 24;
/// The smallest width of a column of texts; no column is narrower than its longest word either.
const NARROWEST: usize = 12;

/// The lines of a table without caption and notes, and the number of header lines. If the columns do not fit next to
/// each other, optional ones are left out, then texts are narrowed. If that is not enough, each row becomes a block of
/// `header  value` lines.
pub(super) fn lines(table: &Table, width: usize) -> (Vec<String>, usize) {
    for narrowest in [COMFORTABLE, NARROWEST] {
        let mut fitting = table.clone();
        loop {
            let grid = Grid::of(&fitting);
            if let Some(widths) = grid.widths(width, narrowest) {
                return grid.beside(&widths);
            }
            let Some(number) = first_to_go(&fitting.columns) else { break };
            fitting.columns.remove(number);
            for row in fitting.rows.iter_mut().filter(|row| row.len() > number) {
                row.remove(number);
            }
        }
    }
    (Grid::of(table).below(width), 0)
}

/// The column to leave out first; `None` if all are needed.
fn first_to_go(columns: &[Column]) -> Option<usize> {
    (0..columns.len()).filter(|n| columns[*n].spare > 0).max_by_key(|n| columns[*n].spare)
}

/// Returns true if the columns fit into `width` next to each other, with no column of texts narrower than necessary or,
/// if its texts are longer, than `narrowest`.
pub(crate) fn fits(table: &Table, width: usize, narrowest: usize) -> bool {
    Grid::of(table).widths(width, narrowest).is_some()
}

/// Returns true if the columns of a table are printed next to each other in `width`, all of them and with texts that
/// are easily read; otherwise each row becomes a list.
pub fn is_beside(table: &Table, width: usize) -> bool {
    fits(table, width, COMFORTABLE)
}

/// The texts of a table, ready to print.
struct Grid<'a> {
    table: &'a Table,
    headers: Vec<String>,
    units: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl<'a> Grid<'a> {
    fn of(table: &'a Table) -> Self {
        let columns: Vec<Vec<String>> =
            (0..table.columns.len()).map(|number| column(table, number)).collect();
        let row = |number: usize| columns.iter().map(|cells| cells[number].clone()).collect();
        Self {
            table,
            headers: table.columns.iter().map(|column| super::line_of(&column.header)).collect(),
            units: table.columns.iter().map(|column| super::line_of(&column.unit)).collect(),
            rows: (0..table.rows.len()).map(row).collect(),
        }
    }

    /// The width of each column: that of its cells. If the sum is too large, the widest columns of texts are narrowed,
    /// since a number must not be broken. `None` if that is not enough.
    fn widths(&self, width: usize, narrowest: usize) -> Option<Vec<usize>> {
        let columns = self.table.columns.len();
        let cells = |number: usize| self.rows.iter().map(move |row| row[number].width()).max().unwrap_or(0);
        let words = |number: usize| self.rows.iter().map(|row| longest_word(&row[number])).max().unwrap_or(0);
        let mut least = Vec::new();
        let mut widths = Vec::new();
        for number in 0..columns {
            let header = longest_word(&self.headers[number]).max(self.units[number].width());
            let full = cells(number).max(header);
            widths.push(full);
            least.push(match self.table.columns[number].align {
                Align::Left => full.min(narrowest).max(header).max(words(number)),
                Align::Right => full,
            });
        }
        let between = BETWEEN * columns.saturating_sub(1);
        while widths.iter().sum::<usize>() + between > width {
            let widest = (0..columns).filter(|n| widths[*n] > least[*n]).max_by_key(|n| widths[*n])?;
            widths[widest] -= 1;
        }
        self.spread(&mut widths, width - between);
        Some(widths)
    }

    /// Distributes the remaining room to headers, to avoid breaking them.
    fn spread(&self, widths: &mut [usize], room: usize) {
        for number in 0..widths.len() {
            let left = room - widths.iter().sum::<usize>();
            let lacks = self.headers[number].width().saturating_sub(widths[number]);
            if lacks <= left {
                widths[number] += lacks;
            }
        }
    }

    fn beside(&self, widths: &[usize]) -> (Vec<String>, usize) {
        let rows = self.rows.iter().flat_map(|row| self.row(row, widths));
        if !self.table.columns.iter().any(Column::has_header) {
            return (rows.collect(), 0);
        }
        let mut lines = self.row(&self.headers, widths);
        if self.units.iter().any(|unit| !unit.is_empty()) {
            lines.extend(self.row(&self.units, widths));
        }
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        lines.push(rule.join(&" ".repeat(BETWEEN)));
        let header = lines.len();
        lines.extend(rows);
        (lines, header)
    }

    fn row(&self, cells: &[String], widths: &[usize]) -> Vec<String> {
        let wrapped: Vec<Vec<String>> = cells
            .iter()
            .zip(widths)
            // A figure fits, and its spaces are part of it.
            .map(|(cell, width)| if cell.width() <= *width { vec![cell.clone()] } else { wrap(cell, *width) })
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let line = |number: usize| {
            let cells =
                wrapped.iter().zip(&self.table.columns).zip(widths).map(|((lines, column), width)| {
                    let cell = lines.get(number).map_or("", String::as_str);
                    let padding = " ".repeat(width.saturating_sub(cell.width()));
                    match column.align {
                        Align::Left => format!("{cell}{padding}"),
                        Align::Right => format!("{padding}{cell}"),
                    }
                });
            cells.collect::<Vec<String>>().join(&" ".repeat(BETWEEN))
        };
        (0..height).map(line).collect()
    }

    fn below(&self, width: usize) -> Vec<String> {
        let name = |number: usize| match self.units[number].as_str() {
            "" => self.headers[number].clone(),
            unit => format!("{} ({unit})", self.headers[number]),
        };
        let names: Vec<String> = (0..self.headers.len()).map(name).collect();
        let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            lines.extend((number > 0).then(String::new));
            for (name, cell) in names.iter().zip(row) {
                lines.extend(pair(name, widest, cell.trim(), width));
            }
        }
        lines
    }
}

/// The cells of a column; a row that is too short is filled up.
fn column(table: &Table, number: usize) -> Vec<String> {
    let blank = Cell::Text(String::new());
    let cells = table.rows.iter().map(|row| row.get(number).unwrap_or(&blank));
    let texts = match table.columns[number].align {
        Align::Left => cells.map(Cell::to_string).collect(),
        Align::Right => aligned(&cells.cloned().collect::<Vec<Cell>>()),
    };
    texts.iter().map(|text| super::line_of(text)).collect()
}
