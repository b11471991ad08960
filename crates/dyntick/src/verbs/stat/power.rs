// SPDX-License-Identifier: GPL-2.0-only
//! The energy that processor packages and their parts used.

use dyntick_observe::live::Power;
use dyntick_report::{Block, Column, Table};
use serde_json::{Value, json};

/// What it is called where it is missing.
pub const WHAT: &str = "power";

/// The zones as a table, with the names of turbostat's columns.
pub fn block(zones: &[Power]) -> Block {
    let row = |zone: &Power| {
        let indent = if zone.part_of.is_some() { "  " } else { "" };
        vec![
            format!("{indent}{}", zone.name),
            zone.column().unwrap_or_default().to_owned(),
            format!("{:.3}", zone.joules()),
            zone.watts().map(|watts| format!("{watts:.2}")).unwrap_or_default(),
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

/// A name that no other zone of the machine has: `package-0/core`.
pub fn full_name(zone: &Power) -> String {
    zone.part_of.iter().chain([&zone.name]).map(String::as_str).collect::<Vec<_>>().join("/")
}

/// For programs.
pub fn value(zones: &[Power]) -> Value {
    let zone = |zone: &Power| {
        json!({
            "zone": full_name(zone),
            "turbostat": zone.column(),
            "joules": zone.joules(),
            "watts": zone.watts(),
            "measured_ns": zone.ns,
        })
    };
    zones.iter().map(zone).collect()
}

/// Adds those of another run.
pub fn add(all: &mut Vec<Power>, more: &[Power]) {
    for zone in more {
        let same = |one: &&mut Power| (&one.name, &one.part_of) == (&zone.name, &zone.part_of);
        match all.iter_mut().find(same) {
            Some(sum) => {
                sum.microjoules = sum.microjoules.saturating_add(zone.microjoules);
                sum.ns += zone.ns;
            }
            None => all.push(zone.clone()),
        }
    }
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
    fn zones_are_told_in_a_table() {
        let document = Document { blocks: vec![block(&zones())], ..Document::default() };
        insta::assert_snapshot!("power", dyntick_report::terminal(&document, 100, false));
    }

    #[test]
    fn programs_get_names_of_their_own() {
        let value = value(&zones());
        assert_eq!(
            (&value[1]["zone"], &value[1]["turbostat"]),
            (&"package-0/core".into(), &"CorWatt".into())
        );
        assert_eq!((&value[0]["joules"], &value[0]["watts"]), (&24.69.into(), &12.345.into()));
    }

    #[test]
    fn runs_add_up() {
        let mut sum = zones();
        add(&mut sum, &zones()[1..]);
        let used: Vec<u64> = sum.iter().map(|zone| zone.microjoules).collect();
        assert_eq!(used, [24_690_000, 16_000_000, 3000, 120_000_000]);
        assert_eq!(sum[1].watts(), zones()[1].watts(), "the mean over both");
    }
}
