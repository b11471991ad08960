// SPDX-License-Identifier: GPL-2.0-only
//! The output of cyclictest (rt-tests 2.x: `src/cyclictest/cyclictest.c`, `print_stat` and
//! `print_hist`): a status line for each thread, and after `--histogram` or `--histofall` a histogram.
//! This module reads it, and the file of `--json` too; [`Status`], [`Columns`] and [`Json`] write the same.

mod json;
mod measured;
mod print;

pub use crate::error::CyclictestError;
pub use json::{Json, JsonThread, Machine};
pub use measured::{Measured, measured, measured_in_json};
pub(crate) use measured::{knows, knows_json, metrics, metrics_of_json};
pub use print::{Column, Columns, Status, Unit};

use dyntick_stats::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The figures of one thread. Latencies are in cyclictest's unit: µs, or ns with `--nsecs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The number of wake-ups.
    pub cycles: u64,
    /// The smallest latency.
    pub min: u64,
    /// The mean, as cyclictest rounds it.
    pub average: u64,
    /// The largest.
    pub max: u64,
    /// The number of system management interrupts, with `--smi`.
    pub smi: Option<u64>,
    /// The latencies below the histogram's limit; empty without `--histogram`.
    pub histogram: Histogram,
    /// The number of latencies at or above that limit.
    pub overflows: u64,
}

/// Reads the threads by their numbers, without the list of `--spike`. Status lines are printed repeatedly, and the
/// last one counts. With `--quiet` and a histogram there are none, but the histogram's foot has the same figures.
pub fn parse(text: &str) -> Result<BTreeMap<u32, Thread>, CyclictestError> {
    let mut threads = BTreeMap::new();
    let mut histogram = Printed::default();
    for (index, line) in text.lines().enumerate() {
        let read = match line.find("T:").filter(|_| !line.contains(" Spike:")) {
            Some(position) => {
                status(&line[position..]).map(|(number, thread)| _ = threads.insert(number, thread))
            }
            None => histogram.line(line),
        };
        read.ok_or_else(|| CyclictestError::Line { line: index + 1, text: line.chars().take(60).collect() })?;
    }
    if threads.is_empty() {
        threads = (0..).zip(std::iter::repeat_n(Thread::default(), histogram.threads)).collect();
        histogram.put_foot(&mut threads);
    }
    histogram.put_counts(&mut threads);
    if threads.is_empty() { Err(CyclictestError::NoThread) } else { Ok(threads) }
}

/// A printed histogram: a line for each latency, a column for each thread. With `--histofall` a last column has the
/// sum of the others.
#[derive(Default)]
struct Printed {
    in_rows: bool,
    rows: Vec<(u64, Vec<u64>)>,
    foot: BTreeMap<String, Vec<u64>>,
    threads: usize,
}

impl Printed {
    /// Takes a line; `None` if it is not understood.
    fn line(&mut self, line: &str) -> Option<()> {
        if let Some(heading) = line.strip_prefix('#') {
            let heading = heading.trim();
            self.in_rows = heading == "Histogram";
            self.threads += usize::from(heading.starts_with("Thread "));
            if let Some((name, figures)) = heading.split_once(':').filter(|(name, _)| FOOT.contains(name)) {
                self.foot.insert(name.to_owned(), numbers(figures)?);
            }
        } else if self.in_rows && !line.trim().is_empty() {
            let row = numbers(line)?;
            let (latency, counts) = row.split_first()?;
            self.rows.push((*latency, counts.to_vec()));
        }
        Some(())
    }

    /// Stores the figures of a line of the foot with their threads.
    fn put(&self, name: &str, threads: &mut BTreeMap<u32, Thread>, place: fn(&mut Thread, u64)) {
        let figures = self.foot.get(name).into_iter().flatten();
        threads.values_mut().zip(figures).for_each(|(thread, figure)| place(thread, *figure));
    }

    fn put_foot(&self, threads: &mut BTreeMap<u32, Thread>) {
        self.put("Total", threads, |thread, n| thread.cycles = n);
        self.put("Min Latencies", threads, |thread, n| thread.min = n);
        self.put("Avg Latencies", threads, |thread, n| thread.average = n);
        self.put("Max Latencies", threads, |thread, n| thread.max = n);
        self.put(OVERFLOWS, threads, |thread, n| thread.cycles = thread.cycles.saturating_add(n));
    }

    fn put_counts(&self, threads: &mut BTreeMap<u32, Thread>) {
        self.put(OVERFLOWS, threads, |thread, n| thread.overflows = n);
        for (latency, counts) in &self.rows {
            let counted = threads.values_mut().zip(counts);
            counted.for_each(|(thread, count)| thread.histogram.add(*latency, *count));
        }
    }
}

/// The lines below a histogram that have a figure for each thread.
const FOOT: [&str; 5] = ["Total", "Min Latencies", "Avg Latencies", "Max Latencies", OVERFLOWS];
const OVERFLOWS: &str = "Histogram Overflows";

/// Parses `T: 0 (  162) P:95 I:1000 C:   1998 Min:   3543 Act: 3607 Avg: 4129 Max:  785070 SMI:       0`.
fn status(line: &str) -> Option<(u32, Thread)> {
    let field = |name: &str| {
        let rest = &line[line.find(name)? + name.len()..];
        rest.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    let thread = Thread {
        cycles: field("C:")?,
        min: field("Min:")?,
        average: field("Avg:")?,
        max: field("Max:")?,
        smi: field("SMI:"),
        ..Thread::default()
    };
    Some((field("T:")? as u32, thread))
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split_ascii_whitespace().map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The output of rt-tests 2.4 in a guest, shortened.
    const REAL: &str = "# /dev/cpu_dma_latency set to 0us\npolicy: fifo: loadavg: 0.00 0.00 0.00 2/99 164          \n\n\
        T: 0 (  162) P:95 I:1000 C:      1 Min: 785070 Act:  785070 Avg:  785070 Max:  785070 SMI:       0\n\
        T: 1 (  163) P:95 I:1000 C:      0 Min:1000000 Act:       0 Avg:       0 Max:       0 SMI:       0\n\
        \u{1b}[3Apolicy: fifo: loadavg: 0.00 0.00 0.00 3/99 164          \n\n\
        T: 0 (  162) P:95 I:1000 C:   1998 Min:   3543 Act:    3607 Avg:    4129 Max:  785070 SMI:       0\n\
        T: 1 (  163) P:95 I:1000 C:   1999 Min:   3544 Act:    3595 Avg:    3716 Max:    4647 SMI:       0\n\
        # Histogram\n003543 000002\t000000\t000002\n003544 000003\t000004\t000007\n\
        # Total: 000000005 000000004 000000009\n# Min Latencies: 03543 03544 03543\n\
        # Histogram Overflows: 00001 00000 00001\n# Histogram Overflow at cycle number:\n\
        # Thread 0: 00000\n# Thread 1:\n# SMIs: 00000 00000 00000\n";

    #[test]
    fn output_with_a_histogram_is_read() {
        let threads = parse(REAL).unwrap();
        assert_eq!(threads.len(), 2);
        let first = &threads[&0];
        assert_eq!((first.cycles, first.min, first.average, first.max), (1998, 3543, 4129, 785_070));
        assert_eq!((first.smi, first.overflows), (Some(0), 1));
        assert_eq!(first.histogram.iter().collect::<Vec<_>>(), [(3543, 2), (3544, 3)]);
        assert_eq!(threads[&1].histogram.iter().collect::<Vec<_>>(), [(3544, 4)]);
    }

    #[test]
    fn quiet_output_has_the_same_figures_below_its_histogram() {
        let quiet: String =
            REAL.lines().filter(|line| !line.contains("T:")).map(|line| format!("{line}\n")).collect();
        let foot = "# Avg Latencies: 03543 03544\n# Max Latencies: 03544 03544\n";
        let threads = parse(&(quiet.replace(" 03543\n", "\n") + foot)).unwrap();
        assert_eq!(threads.len(), 2);
        assert_eq!((threads[&0].cycles, threads[&0].min, threads[&0].max), (6, 3543, 3544));
        assert_eq!((threads[&1].average, threads[&1].histogram.total(), threads[&1].smi), (3544, 4, None));
    }

    #[test]
    fn spikes_are_no_status_lines() {
        let spikes = REAL
            .replace("# Histogram\n", "\nT: 0 Spike:      46: TS:  25971069719\nspikes = 1\n\n# Histogram\n");
        assert_eq!(parse(&spikes), parse(REAL));
    }

    #[test]
    fn other_output_is_refused() {
        assert_eq!(parse("FATAL: Could not open MSR interface\n"), Err(CyclictestError::NoThread));
        let error = parse("T: 0 (  1) P:95\n").unwrap_err();
        assert_eq!(error, CyclictestError::Line { line: 1, text: "T: 0 (  1) P:95".into() });
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(T: |# Histogram\n|[0-9: \tMinAvgx\n#]){0,60}") {
            let _ = parse(&text);
        }
    }
}
