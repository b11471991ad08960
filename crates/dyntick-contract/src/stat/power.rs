// SPDX-License-Identifier: GPL-2.0-only
//! The energy that processor packages and their parts used.

use dyntick_observe::live::Power;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A zone, for JSON.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Zone {
    /// The full name, e.g. `package-0/core`.
    pub zone: String,
    /// The name of turbostat's column for its power, if it has one.
    pub turbostat: Option<String>,
    /// The energy, J.
    pub joules: f64,
    /// The mean power, W.
    pub watts: Option<f64>,
    /// The length of the measurement, ns.
    pub measured_ns: u64,
}

impl Zone {
    /// Converts the energy of a zone.
    pub fn of(zone: &Power) -> Self {
        Self {
            zone: zone.full_name(),
            turbostat: zone.column().map(str::to_owned),
            joules: zone.joules(),
            watts: zone.watts(),
            measured_ns: zone.ns,
        }
    }
}

#[test]
fn json_has_unique_names() {
    let part_of = Some("package-0".to_owned());
    let zone = Power { name: "core".to_owned(), part_of, microjoules: 8_000_000, ns: 2_000_000_000 };
    let value = serde_json::to_value(Zone::of(&zone)).unwrap();
    assert_eq!((&value["zone"], &value["turbostat"]), (&"package-0/core".into(), &"CorWatt".into()));
    assert_eq!((&value["joules"], &value["watts"]), (&8.0.into(), &4.0.into()));
}
