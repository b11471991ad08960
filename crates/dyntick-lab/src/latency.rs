// SPDX-License-Identifier: GPL-2.0-only
//! Wake-up latencies that the cyclictest of a run printed, or its packets.

use dyntick_formats::cyclictest::{self, CyclictestError, Thread};
use dyntick_guest::pieces;
use dyntick_stats::{Histogram, Samples};
use dyntick_study::Case;
pub use dyntick_study::measuring::{Measuring, Meter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Latencies, ns, by thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// The program that measured them.
    pub meter: Meter,
    /// The threads by their numbers.
    pub threads: BTreeMap<u32, Thread>,
    /// The unit in which the program counted, and so the width of a row of its histogram, ns.
    pub width: u64,
}

impl Latency {
    /// The latencies in the output of the case's cyclictest or packets, if it has one that ended by itself. `output`
    /// reads a piece of the guest's archive.
    pub fn of(case: &Case, output: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, CyclictestError> {
        let Some(measuring) = Measuring::of(case) else { return Ok(None) };
        let Measuring { meter, task, .. } = measuring;
        let text = output(&task.map_or(pieces::SCRIPT_OUT.to_owned(), pieces::output_of_task));
        if meter == Meter::Packets {
            return Ok(text.and_then(|text| of_packets(&text)));
        }
        match text.map(|text| cyclictest::parse(&text)) {
            Some(Ok(threads)) => {
                let width = measuring.unit_ns();
                Ok(Some(Self { meter, threads: in_ns(threads, width), width }))
            }
            // It was run with `--quiet`, or was ended by the end of the window.
            Some(Err(CyclictestError::NoThread)) | None => Ok(None),
            Some(Err(error)) => Err(error),
        }
    }

    /// All threads together; without those beyond the histogram's limit.
    pub fn all(&self) -> Histogram {
        let mut all = Histogram::default();
        self.threads.values().for_each(|thread| all.merge(&thread.histogram));
        all
    }

    /// The same with those beyond it, to be compared with another run's; none without a histogram.
    pub fn samples(&self) -> Option<Samples> {
        let counts = self.all();
        let max = self.threads.values().map(|thread| thread.max).max();
        let (width, overflows) = (self.width, self.overflows());
        (counts.total() > 0).then_some(Samples {
            counts,
            width: Some(width),
            step: width,
            overflows,
            max,
            mean: None,
        })
    }

    /// The number of latencies beyond the histogram's limit.
    pub fn overflows(&self) -> u64 {
        self.threads.values().map(|thread| thread.overflows).sum()
    }

    /// Cycles of all threads.
    pub fn cycles(&self) -> u64 {
        self.threads.values().map(|thread| thread.cycles).sum()
    }

    /// The mean of all cycles by cyclictest's own averages of the threads, ns.
    pub fn average(&self) -> f64 {
        let sum: u128 = self.threads.values().map(|t| u128::from(t.average) * u128::from(t.cycles)).sum();
        sum as f64 / self.cycles().max(1) as f64
    }
}

/// Latencies, one a line; one that was ended before it printed has none.
fn of_packets(text: &str) -> Option<Latency> {
    let mut histogram = Histogram::default();
    text.lines().filter_map(|line| line.parse().ok()).for_each(|ns| histogram.add(ns, 1));
    let thread = Thread {
        cycles: histogram.total(),
        min: histogram.quantile(0.0)?,
        average: histogram.mean()?.round() as u64,
        max: histogram.quantile(1.0)?,
        histogram,
        ..Thread::default()
    };
    Some(Latency { meter: Meter::Packets, threads: BTreeMap::from([(0, thread)]), width: 1 })
}

fn in_ns(mut threads: BTreeMap<u32, Thread>, unit: u64) -> BTreeMap<u32, Thread> {
    for thread in threads.values_mut() {
        (thread.min, thread.average, thread.max) =
            (thread.min * unit, thread.average * unit, thread.max * unit);
        thread.histogram = thread.histogram.iter().map(|(value, count)| (value * unit, count)).collect();
    }
    threads
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_guest::Script;

    fn case(words: &[&str]) -> Case {
        let run = words.iter().map(|word| (*word).to_owned()).collect();
        Case {
            script: Some(Script { cpus: Default::default(), run, in_window: false }),
            ..Case::new("c", "debian:6.12")
        }
    }

    fn printed(_: &str) -> Option<String> {
        Some(
            "T: 0 ( 1) P:95 I:1000 C: 3 Min: 2 Act: 2 Avg: 3 Max: 4\nT: 1 ( 2) P:95 I:1000 C: 1 Min: 5 Act: 5 Avg: 7 Max: 9\n\
             # Histogram\n000002 000002\t000000\n000004 000001\t000000\n# Histogram Overflows: 00000 00001\n"
                .into(),
        )
    }

    #[test]
    fn in_nanoseconds_whatever_the_unit() {
        let us = Latency::of(&case(&["/usr/bin/cyclictest", "-m"]), &printed).unwrap().unwrap();
        assert_eq!((us.threads[&0].max, us.average(), us.cycles(), us.overflows()), (4000, 4000.0, 4, 1));
        assert_eq!(us.all().iter().collect::<Vec<_>>(), [(2000, 2), (4000, 1)]);
        let ns = Latency::of(&case(&["cyclictest", "-mN"]), &printed).unwrap().unwrap();
        assert_eq!(ns.threads[&0].max, 4);
        let long = Latency::of(&case(&["cyclictest", "--nsecs"]), &printed).unwrap().unwrap();
        assert_eq!(long, ns);
    }

    #[test]
    fn packets_print_one_a_line() {
        let printed = |_: &str| Some("300\n100\n101\n".to_owned());
        let packets = case(&["dyntick", "guest-packets", "500us"]);
        let latency = Latency::of(&packets, &printed).unwrap().unwrap();
        assert_eq!((latency.threads[&0].min, latency.cycles(), latency.average()), (100, 3, 167.0));
        assert_eq!(Latency::of(&case(&["dyntick", "guest-probe"]), &printed), Ok(None));
        assert_eq!(Latency::of(&packets, &|_| Some(String::new())), Ok(None));
    }

    #[test]
    fn other_tools_and_silent_ones_have_none() {
        assert_eq!(Latency::of(&case(&["sqlite3"]), &printed), Ok(None));
        assert_eq!(Latency::of(&case(&["cyclictest"]), &|_| Some(String::new())), Ok(None));
    }
}
