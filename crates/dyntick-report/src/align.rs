// SPDX-License-Identifier: GPL-2.0-only
//! Columns of figures with their decimal points aligned.

use crate::Cell;

/// The cells of a column of figures as right-aligned texts. If no figure has its own unit, missing decimals become
/// spaces, which aligns the points. With units there are none: a gap between a number and its unit looks like a
/// mistake.
pub(crate) fn aligned(cells: &[Cell]) -> Vec<String> {
    let figures: Vec<Option<(String, &str)>> = cells.iter().map(Cell::figure).collect();
    let plain = figures.iter().flatten().all(|(_, unit)| unit.is_empty());
    let most = figures.iter().flatten().map(|(number, _)| decimals(number)).max().unwrap_or(0);
    let text = |(cell, figure): (&Cell, &Option<(String, &str)>)| match figure {
        Some((number, _)) if plain => format!("{number}{}", " ".repeat(most - decimals(number))),
        _ => cell.to_string(),
    };
    cells.iter().zip(&figures).map(text).collect()
}

/// The width of the decimals, including the point.
fn decimals(number: &str) -> usize {
    number.find('.').map_or(0, |point| number.len() - point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    fn texts(cells: &[Cell]) -> Vec<String> {
        let texts = aligned(cells);
        let width = texts.iter().map(|text| text.width()).max().unwrap_or(0);
        texts.iter().map(|text| format!("{}{text}", " ".repeat(width - text.width()))).collect()
    }

    #[test]
    fn decimal_points_are_aligned() {
        let rates = [Cell::Rate(250.0), Cell::Rate(1.0), Cell::Rate(0.0001), Cell::Unknown];
        assert_eq!(texts(&rates), ["250    ", "  1.0  ", " <0.001", "      –"]);
        assert_eq!(texts(&[Cell::Share(1.0), Cell::Share(0.004)]), ["100.0 %", "  0.4 %"]);
    }

    #[test]
    fn unit_follows_its_number() {
        let times = [Cell::Duration(719.0), Cell::Duration(1500.0), Cell::Duration(1.2e9)];
        assert_eq!(texts(&times), ["  719 ns", "  1.5 µs", "1.2000 s"]);
    }

    #[test]
    fn ranges_and_remarks_are_unchanged() {
        assert_eq!(texts(&["2017-14491".into(), Cell::Fixed(3.5, 1)]), ["2017-14491", "       3.5"]);
    }
}
