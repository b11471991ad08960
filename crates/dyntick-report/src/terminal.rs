// SPDX-License-Identifier: GPL-2.0-only
//! Documents for a terminal or a log.

use crate::timeline::density;
use crate::{Align, Block, Document, Failure, Finding, Ruling, Table, Timeline, Verdict};
use unicode_width::UnicodeWidthStr;

/// Renders a document in at most `width` columns; with colours only where asked.
pub fn terminal(document: &Document, width: usize, colour: bool) -> String {
    let mut page = Page { text: String::new(), width, colour };
    page.line(&page.bold(&document.title));
    page.wrapped(&document.question, "");
    for paragraph in &document.lead {
        page.gap();
        page.wrapped(paragraph, "");
    }
    for block in &document.blocks {
        page.block(block);
    }
    page.text
}

struct Page {
    text: String,
    width: usize,
    colour: bool,
}

impl Page {
    fn block(&mut self, block: &Block) {
        self.gap();
        match block {
            Block::Heading(text) => {
                let text = self.bold(text);
                self.line(&text);
            }
            Block::Paragraph(text) => self.wrapped(text, ""),
            Block::Table(table) => self.table(table),
            Block::Verdicts(verdicts) => verdicts.iter().for_each(|verdict| self.verdict(verdict)),
            Block::Findings(findings) => findings.iter().for_each(|finding| self.finding(finding)),
            Block::Timeline(timeline) => self.timeline(timeline),
            Block::Failures(failures) => failures.iter().for_each(|failure| self.failure(failure)),
            Block::Pairs(pairs) => self.pairs(pairs),
        }
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    fn gap(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Running text; all lines but the first are indented like the first's text.
    fn wrapped(&mut self, text: &str, indent: &str) {
        let following = " ".repeat(indent.width());
        let options = textwrap::Options::new(self.width)
            .initial_indent(indent)
            .subsequent_indent(&following)
            .break_words(true);
        for line in textwrap::wrap(text, options) {
            self.line(&line);
        }
    }

    fn table(&mut self, table: &Table) {
        if !table.caption.is_empty() {
            self.wrapped(&table.caption, "");
        }
        let header: Vec<String> = table.columns.iter().map(|column| column.header.clone()).collect();
        let units: Vec<String> = table.columns.iter().map(|column| column.unit.clone()).collect();
        let widths = widths(table, self.width);
        self.row(table, &header, &widths);
        if units.iter().any(|unit| !unit.is_empty()) {
            self.row(table, &units, &widths);
        }
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        self.row(table, &rule, &widths);
        for row in &table.rows {
            self.row(table, row, &widths);
        }
        for note in &table.notes {
            self.wrapped(note, "  ");
        }
    }

    fn row(&mut self, table: &Table, cells: &[String], widths: &[usize]) {
        let wrapped: Vec<Vec<String>> = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| textwrap::wrap(cell, *width).iter().map(|line| line.to_string()).collect())
            .collect();
        for number in 0..wrapped.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = String::new();
            for ((lines, column), width) in wrapped.iter().zip(&table.columns).zip(widths) {
                let cell = lines.get(number).map_or("", String::as_str);
                let padding = " ".repeat(width.saturating_sub(cell.width()));
                match column.align {
                    Align::Left => line += &format!("{cell}{padding}  "),
                    Align::Right => line += &format!("{padding}{cell}  "),
                }
            }
            self.line(&line);
        }
    }

    fn verdict(&mut self, verdict: &Verdict) {
        self.wrapped(&verdict.claim, "• ");
        for (variant, ruling) in &verdict.rulings {
            let ruling_text = self.painted(*ruling);
            let variant = if variant.is_empty() { String::new() } else { format!("{variant}: ") };
            self.line(&format!("    {variant}{ruling_text}"));
        }
        for line in &verdict.evidence {
            self.wrapped(line, "      ");
        }
        if !verdict.comment.is_empty() {
            self.wrapped(&verdict.comment, "    → ");
        }
    }

    fn finding(&mut self, finding: &Finding) {
        let title = format!("{}: {}", finding.title, finding.occurrence);
        self.wrapped(&title, "• ");
        self.wrapped(&finding.explanation, "  ");
        for (number, link) in finding.chain.iter().enumerate() {
            self.wrapped(link, if number == 0 { "    because  " } else { "          →  " });
        }
        if !finding.functions.is_empty() {
            self.wrapped(&finding.functions.join(", "), "    ran      ");
        }
        for (setting, effect) in &finding.fixes {
            self.wrapped(&format!("{setting}  ({effect})"), "    mend     ");
        }
        if !finding.source.is_empty() {
            self.wrapped(&finding.source, "    source   ");
        }
    }

    fn timeline(&mut self, timeline: &Timeline) {
        self.wrapped(&timeline.caption, "");
        let name = timeline.lanes.iter().map(|lane| lane.name.width()).max().unwrap_or(0);
        let cells = self.width.saturating_sub(name + 2).max(10);
        for lane in &timeline.lanes {
            let padding = " ".repeat(name - lane.name.width());
            self.line(&format!("{}{padding}  {}", lane.name, density(timeline, lane, cells)));
        }
    }

    fn failure(&mut self, failure: &Failure) {
        self.wrapped(&format!("{}: {}", failure.name, failure.reason), "✗ ");
        for line in &failure.console {
            self.wrapped(line, "    | ");
        }
    }

    fn pairs(&mut self, pairs: &[(String, String)]) {
        let width = pairs.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        for (name, value) in pairs {
            let padding = " ".repeat(width - name.width());
            self.wrapped(value, &format!("{name}{padding}  "));
        }
    }

    fn bold(&self, text: &str) -> String {
        if self.colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn painted(&self, ruling: Ruling) -> String {
        let code = match ruling {
            Ruling::Reproduced => 32,
            Ruling::NotReproduced => 31,
            Ruling::CannotTell => 33,
        };
        let text = format!("{} {}", ruling.sign(), ruling.words());
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text }
    }
}

/// How wide each column is: as wide as its cells, and where that is too much the widest columns of
/// texts give way.
fn widths(table: &Table, width: usize) -> Vec<usize> {
    const NARROWEST: usize = 8;
    let cells =
        |number: usize| table.rows.iter().filter_map(move |row| row.get(number)).map(|cell| cell.width());
    let mut widths: Vec<usize> = table
        .columns
        .iter()
        .enumerate()
        .map(|(number, column)| {
            cells(number).chain([column.header.width(), column.unit.width()]).max().unwrap_or(0)
        })
        .collect();
    let total = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
    while total(&widths) > width {
        let Some(widest) = (0..widths.len()).max_by_key(|number| widths[*number]) else { break };
        if widths[widest] <= NARROWEST {
            break;
        }
        widths[widest] -= 1;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;
    use proptest::prelude::*;

    fn table(cells: Vec<String>) -> Table {
        let columns = vec![Column::text("case"), Column::figure("ticks", "1/s"), Column::text("cause")];
        Table { columns, rows: vec![cells], ..Table::default() }
    }

    #[test]
    fn a_wide_cell_wraps_and_numbers_stay_aligned() {
        let long = "a second runnable task on the same CPU keeps the tick".to_owned();
        let mut document = Document { title: "T".into(), ..Document::default() };
        document.blocks.push(Block::Table(table(vec!["second-task".into(), "250".into(), long])));
        insta::assert_snapshot!(terminal(&document, 44, false), @r"
        T

        case         ticks  cause
                       1/s
        ───────────  ─────  ────────────────────────
        second-task    250  a second runnable task
                            on the same CPU keeps
                            the tick
        ");
    }

    proptest! {
        #[test]
        fn never_wider_than_asked(cells in prop::collection::vec("[a-z ]{0,80}", 3), width in 40usize..120) {
            let mut document = Document::default();
            document.blocks.push(Block::Table(table(cells)));
            for line in terminal(&document, width, false).lines() {
                prop_assert!(line.width() <= width, "{line:?}");
            }
        }
    }
}
