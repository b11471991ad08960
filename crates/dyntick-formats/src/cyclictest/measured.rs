// SPDX-License-Identifier: GPL-2.0-only
//! The measurements of cyclictest, from its text or from the file of `--json`, with their unit.

use super::{Thread, Unit, parse};
use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::rt_tests;
use dyntick_stats::{Histogram, Samples};
use serde::Deserialize;
use std::collections::BTreeMap;

const TOOL: &str = "cyclictest";

/// The threads by their numbers, and the unit of their latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The unit of all latencies.
    pub unit: Unit,
    /// The threads.
    pub threads: BTreeMap<u32, Thread>,
    /// The mean latencies; the text truncates them to integers.
    pub means: BTreeMap<u32, f64>,
}

/// Reads the text, which does not state the unit. With `--nsecs` the field of the last latency in a status line is
/// eight columns wide, otherwise five (`print_stat`). A histogram alone is taken to be in µs, cyclictest's default.
pub fn measured(text: &str) -> Result<Measured, Error> {
    let threads = parse(text)?;
    let means = threads.iter().map(|(number, thread)| (*number, thread.average as f64)).collect();
    Ok(Measured { unit: unit(text), threads, means })
}

fn unit(text: &str) -> Unit {
    let nano = text.lines().filter_map(width_of_act).next_back().is_some_and(|width| width >= 8);
    if nano { Unit::Nano } else { Unit::Micro }
}

fn width_of_act(line: &str) -> Option<usize> {
    let (_, field) = line.split_once("Act:")?;
    Some(field.split_once(" Avg:")?.0.len())
}

#[derive(Deserialize)]
struct JsonThread {
    cycles: u64,
    min: u64,
    max: u64,
    avg: Option<f64>,
    #[serde(default)]
    histogram: BTreeMap<String, u64>,
}

/// Reads the file of `--json` (rt-tests 2.0 and later, and `dyntick latency`). Samples in no bucket exceeded all of
/// them.
pub fn measured_in_json(text: &str) -> Result<Measured, Error> {
    let file = rt_tests::parse::<JsonThread>(TOOL, text)?;
    let unit = if file.nanoseconds { Unit::Nano } else { Unit::Micro };
    let (mut threads, mut means) = (BTreeMap::new(), BTreeMap::new());
    for (number, JsonThread { cycles, min, max, avg, histogram }) in file.threads {
        let histogram: Histogram = rt_tests::buckets(TOOL, &histogram)?.into_iter().collect();
        let overflows = if histogram.total() > 0 { cycles.saturating_sub(histogram.total()) } else { 0 };
        let average = avg.unwrap_or(0.0) as u64;
        threads.insert(number, Thread { cycles, min, average, max, smi: None, histogram, overflows });
        means.extend(avg.map(|avg| (number, avg)));
    }
    Ok(Measured { unit, threads, means })
}

pub(crate) fn knows(text: &str) -> bool {
    let is_status = |line: &str| {
        line.find("T:").is_some_and(|at| line[at..].contains(" P:") && line[at..].contains(" Avg:"))
    };
    text.lines().any(|line| line.trim() == "# Histogram" || is_status(line))
}

pub(crate) fn knows_json(text: &str) -> bool {
    rt_tests::is(text) && text.contains("\"resolution_in_ns\"") && text.contains("\"cycles\"")
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    measured(text)?.put(into)
}

pub(crate) fn metrics_of_json(text: &str, into: &mut Collector) -> Result<(), Error> {
    measured_in_json(text)?.put(into)
}

impl Measured {
    /// Adds the figures in ns. A thread that never woke up has none.
    fn put(&self, into: &mut Collector) -> Result<(), Error> {
        let scale = if self.unit == Unit::Nano { 1 } else { 1000 };
        for (number, thread) in self.threads.iter().filter(|(_, thread)| thread.cycles > 0) {
            let name = |what: &str| format!("cyclictest/T{number}/{what}");
            into.samples(&name("latency"), Kind::TIME, thread.samples(scale))?;
            let mean = self.means.get(number).copied();
            for (word, value) in
                [("min", Some(thread.min as f64)), ("avg", mean), ("max", Some(thread.max as f64))]
            {
                if let Some(value) = value {
                    into.value(&name(word), Kind::TIME, value * scale as f64)?;
                }
            }
        }
        Ok(())
    }
}

impl Thread {
    /// The histogram, with each latency multiplied by a scale.
    fn samples(&self, scale: u64) -> Samples {
        let counts =
            self.histogram.iter().map(|(latency, count)| (latency.saturating_mul(scale), count)).collect();
        let overflows = if self.histogram.total() > 0 { self.overflows } else { 0 };
        Samples { counts, overflows, max: Some(self.max.saturating_mul(scale)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_width_shows_the_unit() {
        let micro = "T: 0 ( 4915) P: 0 I:1000 C:    200 Min:     33 Act:   65 Avg:   91 Max:    5486\n";
        let nano = "T: 0 ( 4915) P: 0 I:1000 C:    200 Min:  33914 Act:   65214 Avg:   91693 Max: 5486942\n";
        assert_eq!((unit(micro), unit(nano), unit("# Histogram\n")), (Unit::Micro, Unit::Nano, Unit::Micro));
    }

    #[test]
    fn json_overflows_are_the_missing_samples() {
        let file = |counts: &str| {
            format!(
                "{{\"rt_test_version:\": \"2.40\", \"resolution_in_ns\": 0, \"thread\": {{\"0\": {{\
                 \"histogram\": {{{counts}}}, \"cycles\": 10, \"min\": 3, \"max\": 99, \"avg\": 7.25}}}}}}"
            )
        };
        let thread = |counts: &str| measured_in_json(&file(counts)).unwrap().threads[&0].clone();
        assert_eq!(thread("\"3\": 4, \"5\": 2").overflows, 4);
        assert_eq!(thread("").overflows, 0);
        assert!(measured_in_json(&file("\"x\": 4")).is_err());
    }
}
