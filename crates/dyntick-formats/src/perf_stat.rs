// SPDX-License-Identifier: GPL-2.0-only
//! What `perf stat` prints for machines (Linux 6.1 to 7.2, `tools/perf/util/stat-display.c`): with `-x,` a line of
//! separated values for each count, with `-j` a line of JSON. `-r` has it print means over the runs, `-I` the counts of
//! each interval, `-A`, `--per-socket` and their like a count for each part of the machine. Counts of several runs may
//! stand in one file (`-o FILE --append`).

mod csv;
mod json;

use crate::Error;
use crate::metrics::{Collector, Kind};
use dyntick_stats::Better;
use std::collections::HashMap;

const TOOL: &str = "perf stat";

/// One count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Count {
    /// The end of its interval in seconds since the beginning; only with `-I`.
    pub interval: Option<f64>,
    /// The part of the machine, `CPU0` or `S0-D0-C0`; none for all.
    pub part: Option<String>,
    /// What was counted.
    pub event: String,
    /// How much; none where it was not counted or cannot be.
    pub value: Option<f64>,
    /// The unit, as `msec`; empty for a plain count.
    pub unit: String,
}

/// The counts in their order, of either form.
pub fn parse(text: &str) -> Result<Vec<Count>, Error> {
    if knows_json(text) { json::parse(text) } else { csv::parse(text) }
}

pub(crate) fn knows_json(text: &str) -> bool {
    let is_count = |line: &str| line.trim_start().starts_with('{') && line.contains("\"counter-value\"");
    text.lines().any(is_count)
}

pub(crate) fn knows_csv(text: &str) -> bool {
    csv::is(text)
}

pub(crate) fn metrics_of_json(text: &str, into: &mut Collector) -> Result<(), Error> {
    put(&json::parse(text)?, into)
}

pub(crate) fn metrics_of_csv(text: &str, into: &mut Collector) -> Result<(), Error> {
    put(&csv::parse(text)?, into)
}

/// Counts of intervals become a rate over all of them, for runs may have had different lengths.
fn put(counts: &[Count], into: &mut Collector) -> Result<(), Error> {
    let mut intervals = Intervals::default();
    for count in counts {
        let Some(value) = count.value else { continue };
        match count.interval {
            Some(end) => intervals.add(count, value, end),
            None => {
                let (unit, factor) = unit(&count.unit);
                into.value(&name(count), Kind { unit, better: better(&count.event) }, value * factor)?;
            }
        }
    }
    intervals.put(into)
}

#[derive(Default)]
struct Intervals<'a> {
    /// In the order in which they came; sum and end.
    sums: Vec<(&'a Count, f64, f64)>,
    places: HashMap<(&'a Option<String>, &'a str), usize>,
}

impl<'a> Intervals<'a> {
    fn add(&mut self, count: &'a Count, value: f64, end: f64) {
        let place = *self.places.entry((&count.part, &count.event)).or_insert_with(|| {
            self.sums.push((count, 0.0, 0.0));
            self.sums.len() - 1
        });
        let (_, sum, last) = &mut self.sums[place];
        (*sum, *last) = (*sum + value, last.max(end));
    }

    fn put(self, into: &mut Collector) -> Result<(), Error> {
        for (count, sum, end) in self.sums.into_iter().filter(|(_, _, end)| *end > 0.0) {
            let (unit, factor) = unit(&count.unit);
            let unit = if unit.is_empty() { "1/s".to_owned() } else { format!("{unit}/s") };
            let kind = Kind { unit: &unit, better: better(&count.event) };
            into.value(&format!("{}/s", name(count)), kind, sum * factor / end)?;
        }
        Ok(())
    }
}

fn name(count: &Count) -> String {
    match &count.part {
        Some(part) => format!("perf/{part}/{}", count.event),
        None => format!("perf/{}", count.event),
    }
}

/// The unit that a metric has, and what a value is multiplied by.
fn unit(unit: &str) -> (&str, f64) {
    match unit {
        "msec" => ("ns", 1e6),
        "Joules" => ("J", 1.0),
        "MiB" => ("B", 1_048_576.0),
        other => (other, 1.0),
    }
}

/// Of most events nobody knows without the question which direction is better.
fn better(event: &str) -> Better {
    let event = event.split(':').next().unwrap_or("");
    let unwanted = [
        "cs",
        "context-switches",
        "migrations",
        "cpu-migrations",
        "faults",
        "page-faults",
        "minor-faults",
        "major-faults",
    ];
    let is_unwanted =
        unwanted.contains(&event) || event.ends_with("-misses") || event.starts_with("power/energy-");
    if is_unwanted { Better::Lower } else { Better::Unknown }
}
