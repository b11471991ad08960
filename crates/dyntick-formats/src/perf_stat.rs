// SPDX-License-Identifier: GPL-2.0-only
//! The machine-readable output of `perf stat` (Linux 6.1 to 7.2, `tools/perf/util/stat-display.c`): with `-x,` a line
//! of separated values for each count, with `-j` a line of JSON. `-r` prints means over the runs, `-I` the counts of
//! each interval, and `-A`, `--per-socket` and similar options a count for each part of the machine. One file may have
//! the counts of several runs (`-o FILE --append`).

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
    /// The part of the machine, e.g. `CPU0` or `S0-D0-C0`; `None` for all.
    pub part: Option<String>,
    /// The counted event.
    pub event: String,
    /// The count; `None` if it was not counted or is not supported.
    pub value: Option<f64>,
    /// The unit, e.g. `msec`; empty for a plain count.
    pub unit: String,
}

/// Reads the counts in their order, from either form.
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

/// Adds the metrics. Counts of intervals become a rate over all of them, since runs may differ in length.
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

/// The sum of an event's counts, and the end of the last interval in seconds.
struct Sum<'a> {
    count: &'a Count,
    value: f64,
    end: f64,
}

#[derive(Default)]
struct Intervals<'a> {
    /// The sums in the order of their events.
    sums: Vec<Sum<'a>>,
    places: HashMap<(&'a Option<String>, &'a str), usize>,
}

impl<'a> Intervals<'a> {
    fn add(&mut self, count: &'a Count, value: f64, end: f64) {
        let place = *self.places.entry((&count.part, &count.event)).or_insert_with(|| {
            self.sums.push(Sum { count, value: 0.0, end: 0.0 });
            self.sums.len() - 1
        });
        let sum = &mut self.sums[place];
        sum.value += value;
        sum.end = sum.end.max(end);
    }

    fn put(self, into: &mut Collector) -> Result<(), Error> {
        for Sum { count, value, end } in self.sums.into_iter().filter(|sum| sum.end > 0.0) {
            let (unit, factor) = unit(&count.unit);
            let unit = if unit.is_empty() { "1/s".to_owned() } else { format!("{unit}/s") };
            let kind = Kind { unit: &unit, better: better(&count.event) };
            into.value(&format!("{}/s", name(count)), kind, value * factor / end)?;
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

/// The metric's unit, and the factor for its values.
fn unit(unit: &str) -> (&str, f64) {
    match unit {
        "msec" => ("ns", 1e6),
        "Joules" => ("J", 1.0),
        "MiB" => ("B", 1_048_576.0),
        other => (other, 1.0),
    }
}

/// The better direction, which is unknown for most events.
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
