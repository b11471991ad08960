// SPDX-License-Identifier: GPL-2.0-only
//! The measurements of cyclictest, from its text or from the file of `--json`, with their unit.

use super::{Run, Thread, Unit};
use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::rt_tests;
use dyntick_stats::{Exposure, Histogram, Samples};
use serde::Deserialize;
use std::collections::BTreeMap;

const TOOL: &str = "cyclictest";

/// The threads of a run by their numbers, and the unit of their latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The unit of all latencies.
    pub unit: Unit,
    /// True if the output states the unit.
    pub stated: bool,
    /// The threads.
    pub threads: BTreeMap<u32, Thread>,
    /// The mean latencies; the text truncates them to integers.
    pub means: BTreeMap<u32, f64>,
    /// The step of the means, in the unit.
    pub step: f64,
    /// The interval between wake-ups of the first thread, µs.
    pub interval_us: Option<u64>,
}

/// The measured runs, and the number of lines that are not cyclictest's. The text does not state the unit: with
/// `--nsecs` the field of the last latency in a status line is eight columns wide, otherwise five (`print_stat`).
/// Without such a line, or with blanks collapsed, the unit is the given one, or µs, cyclictest's default.
pub fn measured(text: &str, unit: Option<Unit>) -> Result<(Vec<Measured>, usize), Error> {
    let (runs, foreign) = super::runs(text)?;
    let measured = |run: Run| {
        let known = unit_of(&run);
        let means = run.threads.iter().map(|(number, thread)| (*number, thread.average as f64)).collect();
        Measured {
            unit: known.or(unit).unwrap_or(Unit::Micro),
            stated: known.is_some(),
            threads: run.threads,
            means,
            step: 1.0,
            interval_us: run.interval_us,
        }
    };
    Ok((runs.into_iter().map(measured).collect(), foreign))
}

/// The unit that the columns show, or that alone is possible: no wake-up is later than the run is long.
fn unit_of(run: &Run) -> Option<Unit> {
    const MIN_WIDTH: usize = 7;
    const ACT_WIDTH_OF_NANO: usize = 8;
    let [min, act] = run.widths?;
    if min >= MIN_WIDTH {
        return Some(if act >= ACT_WIDTH_OF_NANO { Unit::Nano } else { Unit::Micro });
    }
    let is_late = |thread: &Thread| {
        let length = thread.cycles.saturating_mul(run.interval_us.unwrap_or(u64::MAX));
        thread.max > length.saturating_add(1_000_000)
    };
    run.threads.values().any(is_late).then_some(Unit::Nano)
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
    Ok(Measured { unit, stated: true, threads, means, step: 0.0, interval_us: None })
}

pub(crate) fn knows(text: &str) -> bool {
    let is_status = |line: &str| {
        super::status_in(line).is_some_and(|line| line.contains(" P:") && line.contains(" Avg:"))
    };
    let is_heading = |line: &str| line.trim() == "# Histogram" || line.starts_with("# Min Latencies:");
    text.lines().any(|line| is_heading(line) || is_status(line))
}

pub(crate) fn knows_json(text: &str) -> bool {
    rt_tests::is(text)
        && text.contains("\"resolution_in_ns\"")
        && text.contains("\"cycles\"")
        && rt_tests::program(text)
            .is_none_or(|program| program != "cyclicdeadline" && program != "signaltest")
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let (runs, foreign) = measured(text, into.unit())?;
    into.skipped(foreign);
    if runs.iter().any(|run| !run.stated) && into.unit().is_none() {
        into.note("its text does not state the unit: read as µs, cyclictest's default; of -N, compare with --unit ns");
    }
    runs.iter().try_for_each(|run| run.put(into))
}

pub(crate) fn metrics_of_json(text: &str, into: &mut Collector) -> Result<(), Error> {
    rt_tests::put_command(text, into);
    measured_in_json(text)?.put(into)
}

impl Measured {
    /// Adds the figures in ns. A thread that never woke up has none.
    fn put(&self, into: &mut Collector) -> Result<(), Error> {
        let scale = self.unit.ns();
        if let Some(interval) = self.interval_us {
            into.setting("interval", &format!("{interval} µs"));
        }
        into.setting("threads", &self.threads.len().to_string());
        for (number, thread) in self.threads.iter().filter(|(_, thread)| thread.cycles > 0) {
            into.watched(Exposure {
                samples: Some(thread.cycles),
                seconds: self.interval_us.map(|us| us as f64 * thread.cycles as f64 / 1e6),
                stopped_early: false,
            });
            let name = |what: &str| format!("cyclictest/T{number}/{what}");
            let mean = self.means.get(number).map(|mean| mean * scale as f64);
            let latency = name("latency");
            into.samples(&latency, Kind::TIME, thread.samples(scale, mean))?;
            let step = scale as f64;
            let figures = [
                ("min", Some(thread.min as f64 * step), step),
                ("avg", mean, self.step * step),
                ("max", Some(thread.max as f64 * step), step),
            ];
            for (word, value, step) in figures {
                if let Some(value) = value {
                    into.summary(&name(word), Kind::of_time(word).cut_to(step), value, &latency)?;
                }
            }
        }
        Ok(())
    }
}

impl Thread {
    /// The histogram, with each latency multiplied by a scale, which is the width of its rows.
    fn samples(&self, scale: u64, mean: Option<f64>) -> Samples {
        let counts =
            self.histogram.iter().map(|(latency, count)| (latency.saturating_mul(scale), count)).collect();
        let overflows = if self.histogram.total() > 0 { self.overflows } else { 0 };
        let max = Some(self.max.saturating_mul(scale));
        Samples { counts, width: Some(scale), step: scale, overflows, max, mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Option<Unit> {
        super::super::runs(text).unwrap().0.first().and_then(unit_of)
    }

    #[test]
    fn column_width_shows_the_unit() {
        let micro = "T: 0 ( 4915) P: 0 I:1000 C:    200 Min:     33 Act:   65 Avg:   91 Max:    5486\n";
        let nano = "T: 0 ( 4915) P: 0 I:1000 C:    200 Min:  33914 Act:   65214 Avg:   91693 Max: 5486942\n";
        assert_eq!((unit(micro), unit(nano)), (Some(Unit::Micro), Some(Unit::Nano)));
        let collapsed = |text: &str| text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(unit(&collapsed(nano)), Some(Unit::Nano), "5 s in a run of 0.2 s");
        let (runs, _) = measured(&collapsed(micro), Some(Unit::Nano)).unwrap();
        assert_eq!((runs[0].unit, runs[0].stated), (Unit::Nano, false), "nothing shows it");
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
