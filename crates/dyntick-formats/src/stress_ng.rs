// SPDX-License-Identifier: GPL-2.0-only
//! The output of stress-ng (0.15 to 0.22, `stress-ng.c`: `stress_metrics_dump`): the file of `--yaml`, or the lines of
//! `--metrics` and `--metrics-brief`.

mod kinds;
mod table;
mod yaml;

use crate::Error;
use crate::metrics::{Collector, Kind};
use dyntick_stats::{Better, Exposure};
use std::collections::HashMap;

const TOOL: &str = "stress-ng";

/// The figures of one stressor in one section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stressor {
    /// The section, e.g. `metrics`, `perfstats`, `C-states`.
    pub section: String,
    /// The stressor's name, e.g. `matrix`.
    pub name: String,
    /// The figures by the YAML file's names, in their order. A name may be repeated.
    pub values: Vec<(String, f64)>,
}

/// Reads the stressors in their order, from either form.
pub fn parse(text: &str) -> Result<Vec<Stressor>, Error> {
    let stressors = if yaml::is(text) { yaml::parse(text)? } else { table::parse(text)? };
    if stressors.is_empty() { Err(Error::Nothing { tool: TOOL }) } else { Ok(stressors) }
}

pub(crate) fn knows(text: &str) -> bool {
    yaml::is(text) || table::is(text)
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    if let Some(hogs) = table::hogs(text) {
        into.setting("hogs", hogs);
    }
    for stressor in parse(text)? {
        let seconds =
            stressor.values.iter().find(|(key, _)| key == "wall-clock-time").map(|(_, seconds)| *seconds);
        into.watched(Exposure { seconds, ..Exposure::default() });
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (key, value) in &stressor.values {
            let again = seen.entry(key).and_modify(|count| *count += 1).or_insert(1);
            let Some((word, kind, factor)) = kinds::of(&stressor.section, key) else { continue };
            let number = if *again > 1 { format!("#{again}") } else { String::new() };
            let section = if stressor.section == "metrics" { "" } else { &format!("{}/", stressor.section) };
            into.value(
                &format!("stress-ng/{}/{section}{word}{number}", stressor.name),
                kind,
                value * factor,
            )?;
        }
    }
    Ok(())
}

/// The kind of a figure that counts work.
const WORK: Kind<'static> = Kind::new("", Better::Higher).growing();
