// SPDX-License-Identifier: GPL-2.0-only
//! The cells of tables, which stay values until they are laid out.

use crate::numbers;
use std::fmt::{self, Display, Formatter};

/// A cell. Only [`Cell::Text`] is text; the others become text when they are laid out, by the rules of [`numbers`].
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text, or a figure without its own variant, e.g. a range.
    Text(String),
    /// A count.
    Count(u64),
    /// A rate per second.
    Rate(f64),
    /// A share, from 0 to 1; shown in per cent.
    Share(f64),
    /// A time, ns; shown in its natural unit.
    Duration(f64),
    /// A number in the column's unit, with the given decimals.
    Fixed(f64, usize),
    /// A number in the column's unit, with the given significant digits.
    Rounded(f64, i32),
    /// A difference: the figure with its sign.
    Signed(Box<Cell>),
    /// A figure that is not known, shown as a dash.
    Unknown,
}

impl Cell {
    /// Makes a cell of a figure, or of a dash if it is not known.
    pub fn known(figure: Option<Self>) -> Self {
        figure.unwrap_or(Self::Unknown)
    }

    /// Makes a cell of a figure, or an empty one if none is expected.
    pub fn or_blank(figure: Option<Self>) -> Self {
        figure.unwrap_or(Self::Text(String::new()))
    }

    /// Makes a cell of a difference, which shows its sign.
    pub fn signed(figure: Self) -> Self {
        Self::Signed(Box::new(figure))
    }

    /// The number and the unit of a figure, the latter empty if the column names it; `None` for text.
    pub(crate) fn figure(&self) -> Option<(String, &'static str)> {
        match self {
            Cell::Text(_) | Cell::Unknown => None,
            Cell::Count(count) => Some((count.to_string(), "")),
            Cell::Rate(per_second) => Some((numbers::rate(*per_second), "")),
            Cell::Share(share) => Some((numbers::per_cent(*share)?, "%")),
            Cell::Duration(ns) => numbers::in_unit(*ns),
            Cell::Fixed(value, decimals) => Some((format!("{value:.decimals$}"), "")),
            Cell::Signed(figure) => match **figure {
                // A difference that is not shown has no sign either.
                Cell::Share(share) if share.abs() < 0.0005 => Some(("0.0".to_owned(), "%")),
                _ => figure.figure().map(|(number, unit)| (signed(&number), unit)),
            },
            Cell::Rounded(value, digits) => Some((dyntick_model::digits::rounded(*value, *digits), "")),
        }
    }
}

/// A number with its sign, which zero does not have.
fn signed(number: &str) -> String {
    let size = number.trim_start_matches('-');
    if !size.contains(|digit: char| ('1'..='9').contains(&digit)) {
        size.to_owned()
    } else if size.len() < number.len() {
        number.to_owned()
    } else {
        format!("+{number}")
    }
}

impl Display for Cell {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self, self.figure()) {
            (Cell::Text(text), _) => f.write_str(text),
            (Cell::Signed(figure), None) => figure.fmt(f),
            (_, Some((number, ""))) => f.write_str(&number),
            (_, Some((number, unit))) => write!(f, "{number} {unit}"),
            (_, None) => f.write_str(numbers::UNKNOWN),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

/// Makes a row of a table from texts and cells.
#[macro_export]
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($crate::Cell::from($cell)),*] };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_text_when_laid_out() {
        let cells = row![
            "words",
            Cell::Count(1234567),
            Cell::Rate(0.05),
            Cell::Share(0.5),
            Cell::Duration(1500.0),
            Cell::Fixed(2.0, 3),
            Cell::Rounded(0.123456, 4),
            Cell::known(None),
            Cell::Share(f64::NAN),
            Cell::signed(Cell::Fixed(2.0, 1)),
            Cell::signed(Cell::Rounded(-2.5, 4)),
            Cell::signed(Cell::Share(-0.0)),
            Cell::signed(Cell::Fixed(-0.01, 1)),
            Cell::signed(Cell::Share(0.0004)),
            Cell::signed(Cell::Share(-0.0004)),
            Cell::signed("a text".into()),
            Cell::signed(Cell::Unknown),
        ];
        let texts: Vec<String> = cells.iter().map(Cell::to_string).collect();
        let expected = [
            "words", "1234567", "0.050", "50.0 %", "1.5 µs", "2.000", "0.1235", "–", "–", "+2.0", "-2.5",
            "0.0 %", "0.0", "0.0 %", "0.0 %", "a text", "–",
        ];
        assert_eq!(texts, expected);
    }
}
