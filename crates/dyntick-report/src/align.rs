// SPDX-License-Identifier: GPL-2.0-only
//! Figures of a column with their decimal points below each other.

use unicode_width::UnicodeWidthStr;

/// The longest unit, per cent sign or the like that may follow a figure.
const LONGEST_UNIT: usize = 4;

/// A cell of a column of figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figure {
    /// The number; the whole cell where it is not one.
    pub(crate) number: String,
    /// How many columns its decimals lack.
    pub(crate) gap: usize,
    /// What follows the number.
    pub(crate) unit: String,
    /// How many columns its unit lacks.
    pub(crate) end: usize,
}

impl Figure {
    /// As text of fixed width.
    pub(crate) fn text(&self) -> String {
        format!("{}{}{}{}", self.number, " ".repeat(self.gap), self.unit, " ".repeat(self.end))
    }
}

/// Aligns the cells of one column, which are to stand at its right. A column in which long texts
/// follow the numbers stays as it is.
pub(crate) fn aligned<'a>(cells: impl Iterator<Item = &'a str>) -> Vec<Figure> {
    let parts: Vec<(&str, &str)> = cells.map(parts).collect();
    let figures = || parts.iter().filter(|(number, _)| !number.is_empty());
    let unit = figures().map(|(_, unit)| unit.width()).max().unwrap_or(0);
    let decimals = figures().map(|(number, _)| decimals(number)).max().unwrap_or(0);
    let figure = |&(number, rest): &(&str, &str)| match number.is_empty() || unit > LONGEST_UNIT {
        true => Figure { number: format!("{number}{rest}"), ..Figure::default() },
        false => Figure {
            number: number.to_owned(),
            gap: decimals - self::decimals(number),
            unit: rest.to_owned(),
            end: unit - rest.width(),
        },
    };
    parts.iter().map(figure).collect()
}

/// A cell as its leading number and the rest.
fn parts(cell: &str) -> (&str, &str) {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '\u{202f}' | '-' | '+' | '<');
    let digits = cell.trim_start_matches(['-', '+', '<']);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return ("", cell);
    }
    let signs = cell.len() - digits.len();
    let end = digits.find(|c: char| !is_part(c) || matches!(c, '-' | '+' | '<')).unwrap_or(digits.len());
    cell.split_at(signs + end)
}

/// The width of the decimals with their point.
fn decimals(number: &str) -> usize {
    number.find('.').map_or(0, |point| number.len() - point)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(cells: &[&str]) -> Vec<String> {
        let texts: Vec<String> = aligned(cells.iter().copied()).iter().map(Figure::text).collect();
        let width = texts.iter().map(|text| text.width()).max().unwrap_or(0);
        texts.iter().map(|text| format!("{}{text}", " ".repeat(width - text.width()))).collect()
    }

    #[test]
    fn points_stand_below_each_other() {
        assert_eq!(texts(&["250", "1.0", "<0.001", "–"]), ["250    ", "  1.0  ", " <0.001", "      –"]);
        assert_eq!(texts(&["100 %", "0.4 %"]), ["100   %", "  0.4 %"]);
        assert_eq!(texts(&["2.50 ms", "1.2 s"]), ["2.50 ms", "1.2  s "]);
    }

    #[test]
    fn ranges_and_remarks_stay() {
        assert_eq!(texts(&["2017-14491", "3.5"]), ["2017-14491", "       3.5"]);
    }
}
