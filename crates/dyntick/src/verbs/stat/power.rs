// SPDX-License-Identifier: GPL-2.0-only
//! The energy that processor packages and their parts used.

use dyntick_observe::live::Power;
use dyntick_report::{Block, Cell, Column, Table, row};

/// The zones as a table, with the names of turbostat's columns.
pub fn block(zones: &[Power]) -> Block {
    let row = |zone: &Power| {
        let indent = if zone.part_of.is_some() { "  " } else { "" };
        row![
            format!("{indent}{}", zone.name),
            zone.column().unwrap_or_default(),
            Cell::Fixed(zone.joules(), 3),
            Cell::or_blank(zone.watts().map(|watts| Cell::Fixed(watts, 2))),
        ]
    };
    Block::Table(Table {
        caption: "Energy and power (RAPL) of packages, including CPUs that are not measured".to_owned(),
        columns: vec![
            Column::text("zone"),
            Column::text("turbostat"),
            Column::figure("energy", "J"),
            Column::figure("power", "W"),
        ],
        rows: zones.iter().map(row).collect(),
        notes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_report::Document;

    fn zones() -> Vec<Power> {
        let zone = |name: &str, part_of: Option<&str>, microjoules| Power {
            name: name.to_owned(),
            part_of: part_of.map(str::to_owned),
            microjoules,
            ns: 2_000_000_000,
        };
        let package = Some("package-0");
        vec![
            zone("package-0", None, 24_690_000),
            zone("core", package, 8_000_000),
            zone("dram", package, 1500),
            zone("psys", None, 60_000_000),
        ]
    }

    #[test]
    fn zones_are_shown_in_a_table() {
        let document = Document { blocks: vec![block(&zones())], ..Document::default() };
        insta::assert_snapshot!("power", dyntick_report::terminal(&document, 100, false));
    }
}
