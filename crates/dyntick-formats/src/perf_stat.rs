// SPDX-License-Identifier: GPL-2.0-only
//! The machine-readable output of `perf stat` (Linux 6.1 to 7.2, `tools/perf/util/stat-display.c`): with `-x,` a line
//! of separated values for each count, with `-j` a line of JSON. `-r` prints means over the runs, `-I` the counts of
//! each interval, and `-A`, `--per-socket` and similar options a count for each part of the machine. One file may have
//! the counts of several runs (`-o FILE --append`).

mod csv;
mod json;
mod people;

use crate::Error;
use crate::metrics::{Collector, Kind};
use dyntick_stats::Better;
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
    if knows_json(text) { json::parse(text) } else { csv::parse(text).map(|(counts, _)| counts) }
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
    let (counts, foreign) = csv::parse(text)?;
    into.skipped(foreign);
    put(&counts, into)
}

pub(crate) fn knows_people(text: &str) -> bool {
    people::is(text)
}

pub(crate) fn metrics_of_people(text: &str, into: &mut Collector) -> Result<(), Error> {
    let runs = people::parse(text)?;
    let commands: BTreeSet<&str> = runs.iter().map(|run| run.command.as_str()).collect();
    for run in &runs {
        into.setting("command", &run.command);
        if run.repeats > 1 {
            into.note(format_args!("perf stat -r prints a mean of {} runs: they count as one", run.repeats));
        }
        // Counts of several commands are not of one metric.
        let command = if commands.len() > 1 { format!("{}/", run.command) } else { String::new() };
        put_as(&run.counts, &command, into)?;
        for (name, seconds) in &run.times {
            into.value(&format!("perf/{command}{name}"), Kind::TIME, seconds * 1e9)?;
        }
    }
    Ok(())
}

/// Adds the metrics. Counts of intervals become a rate over all of them, since runs may differ in length.
fn put(counts: &[Count], into: &mut Collector) -> Result<(), Error> {
    put_as(counts, "", into)
}

/// The same, with the command before the names.
fn put_as(counts: &[Count], command: &str, into: &mut Collector) -> Result<(), Error> {
    let mut intervals = Intervals::default();
    for count in counts {
        let Some(value) = count.value else { continue };
        match count.interval {
            Some(_) => intervals.add(count, value),
            None => {
                let (unit, factor) = unit(count);
                let name = format!("perf/{command}{}", name(count));
                into.value(&name, Kind::new(unit, better(&count.event)), value * factor)?;
            }
        }
    }
    intervals.put(length(counts), command, into)?;
    cycles(counts, command, into)
}

/// The seconds from the beginning of the first interval to the end of the last: the file may begin with a later one.
fn length(counts: &[Count]) -> f64 {
    let mut ends: Vec<f64> = counts.iter().filter_map(|count| count.interval).collect();
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    match ends[..] {
        [] => 0.0,
        [end] => end,
        [first, second, ..] => ends[ends.len() - 1] - (first - (second - first)).max(0.0),
    }
}

/// Adds the instructions per cycle of each part of the machine and each kind of core, over all intervals.
fn cycles(counts: &[Count], command: &str, into: &mut Collector) -> Result<(), Error> {
    let mut sums: BTreeMap<(Option<&str>, &str), [f64; 2]> = BTreeMap::new();
    for count in counts {
        let (pmu, event) = place_and_event(&count.event);
        let at = match event {
            "instructions" => 0,
            "cycles" | "cpu-cycles" => 1,
            _ => continue,
        };
        sums.entry((count.part.as_deref(), pmu)).or_default()[at] += count.value.unwrap_or(0.0);
    }
    for ((part, pmu), [instructions, cycles]) in
        sums.into_iter().filter(|(_, sums)| sums.iter().all(|sum| *sum > 0.0))
    {
        let places: String = part
            .into_iter()
            .chain([pmu])
            .filter(|place| !place.is_empty())
            .map(|place| format!("{place}/"))
            .collect();
        let name = format!("perf/{command}{places}insn per cycle");
        into.value(&name, Kind::new("", Better::Unknown), instructions / cycles)?;
    }
    Ok(())
}

/// The kind of core and the event of `cpu_core/branch-misses/u`; an event without a kind of core alone.
fn place_and_event(event: &str) -> (&str, &str) {
    match event.split_once('/') {
        Some((pmu, rest)) => (pmu, rest.split(['/', ':', ',']).next().unwrap_or("")),
        None => ("", event.split(':').next().unwrap_or("")),
    }
}

/// The sum of an event's counts.
struct Sum<'a> {
    count: &'a Count,
    value: f64,
}

#[derive(Default)]
struct Intervals<'a> {
    /// The sums in the order of their events.
    sums: Vec<Sum<'a>>,
    places: HashMap<(&'a Option<String>, &'a str), usize>,
}

impl<'a> Intervals<'a> {
    fn add(&mut self, count: &'a Count, value: f64) {
        let place = *self.places.entry((&count.part, &count.event)).or_insert_with(|| {
            self.sums.push(Sum { count, value: 0.0 });
            self.sums.len() - 1
        });
        self.sums[place].value += value;
    }

    fn put(self, length: f64, command: &str, into: &mut Collector) -> Result<(), Error> {
        for Sum { count, value } in self.sums.into_iter().filter(|_| length > 0.0) {
            let (unit, factor) = unit(count);
            let unit = if unit.is_empty() { "1/s".to_owned() } else { format!("{unit}/s") };
            let kind = Kind::new(&unit, better(&count.event));
            into.value(&format!("perf/{command}{}/s", name(count)), kind, value * factor / length)?;
        }
        Ok(())
    }
}

fn name(count: &Count) -> String {
    match &count.part {
        Some(part) => format!("{part}/{}", count.event),
        None => count.event.clone(),
    }
}

/// The metric's unit, and the factor for its values. Clocks are times also where perf 6.1x prints no unit, in ns.
fn unit(count: &Count) -> (&str, f64) {
    let is_clock = ["cpu-clock", "task-clock"].contains(&place_and_event(&count.event).1);
    match count.unit.as_str() {
        "" if is_clock => ("ns", 1.0),
        "msec" => ("ns", 1e6),
        "Joules" => ("J", 1.0),
        "MiB" => ("B", 1_048_576.0),
        other => (other, 1.0),
    }
}

/// The better direction, which is unknown for most events.
fn better(event: &str) -> Better {
    let (pmu, event) = place_and_event(event);
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
    let is_unwanted = unwanted.contains(&event)
        || event.ends_with("-misses")
        || pmu == "power" && event.starts_with("energy-");
    if is_unwanted { Better::Lower } else { Better::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Clock;
    use dyntick_stats::Values;

    fn read(text: &str) -> Vec<(String, f64, Better, String)> {
        let mut collector = Collector::new(TOOL, Clock::Wall);
        let read = if knows_json(text) { metrics_of_json } else { metrics_of_csv };
        read(text, &mut collector).unwrap();
        let row = |(name, metric): (dyntick_stats::MetricName, dyntick_stats::Metric)| {
            let Values::Runs(values) = &metric.values else { panic!() };
            (name.to_string(), values[0], metric.better, metric.unit.clone())
        };
        collector.finish().unwrap().metrics.into_iter().map(row).collect()
    }

    #[test]
    fn rates_are_over_the_intervals_of_the_file() {
        let text = "60.000111,500,,cs,1,100.00,,\n61.000112,520,,cs,1,100.00,,\n";
        let (_, rate, ..) = &read(text)[0];
        assert!((rate - 510.0).abs() < 0.01, "{rate}");
        assert_eq!(
            read("2.0,500,,cs,1,100.00,,\n4.0,500,,cs,1,100.00,,\n")[0].1,
            250.0,
            "from the beginning"
        );
    }

    #[test]
    fn event_within_the_pmu_decides() {
        let text = "perf version 6.17\n1.0,100,,cpu_core/cpu-cycles/,1,100.00,,\n1.0,150,,cpu_core/instructions/,1,100.00,1.5,insn per cycle\n\
                    1.0,7,,cpu_atom/branch-misses/,1,100.00,,\n1.0,22065603430,,cpu-clock,1,100.00,22.0,CPUs utilized\n";
        let rows = read(text);
        let find =
            |name: &str| rows.iter().find(|row| row.0 == name).unwrap_or_else(|| panic!("{name}: {rows:?}"));
        assert_eq!(find("perf/cpu_atom/branch-misses//s").2, Better::Lower);
        assert_eq!(find("perf/cpu-clock/s").3, "ns/s");
        assert_eq!(find("perf/cpu_core/insn per cycle").1, 1.5);
    }
}
