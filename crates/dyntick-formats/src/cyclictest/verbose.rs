// SPDX-License-Identifier: GPL-2.0-only
//! The output of cyclictest with `--verbose` (rt-tests, `print_stat`): a line for each wake-up, with its thread, the
//! number of the wake-up, and its latency: `       0:     123:      45`. The unit is not stated.

use super::Unit;
use crate::Error;
use crate::metrics::{Collector, Kind};
use dyntick_stats::{Exposure, Histogram, Samples};
use std::collections::BTreeMap;

const TOOL: &str = "cyclictest";

/// The fewest lines of wake-ups by which an output is recognised.
const FEWEST: usize = 3;

/// One wake-up.
struct Sample {
    thread: u32,
    cycle: u64,
    latency: u64,
}

/// The wake-ups of one thread in one run.
#[derive(Default)]
struct Thread {
    last: Option<u64>,
    samples: u64,
    sum: f64,
    min: u64,
    max: u64,
    counts: Histogram,
}

/// Returns true if most lines are wake-ups.
pub(crate) fn knows(text: &str) -> bool {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let samples = lines().filter(|line| sample(line).is_some()).count();
    samples >= FEWEST && samples * 2 > lines().count()
}

/// Adds the latencies of each thread. A number that is not higher than the one before begins another run.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let unit = into.unit().unwrap_or(Unit::Micro);
    if into.unit().is_none() {
        into.note("its text does not state the unit: read as µs, cyclictest's default; of -N, compare with --unit ns");
    }
    let mut threads: BTreeMap<u32, Thread> = BTreeMap::new();
    let (mut foreign, mut skipped) = (0, 0u64);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let Some(Sample { thread: number, cycle, latency }) = sample(line) else {
            if is_cut(line) {
                return Err(Error::line(TOOL, index, line));
            }
            foreign += 1;
            continue;
        };
        if threads.get(&number).and_then(|thread| thread.last).is_some_and(|last| cycle <= last) {
            put(std::mem::take(&mut threads), unit, into)?;
        }
        let thread = threads.entry(number).or_default();
        if let Some(last) = thread.last {
            skipped = skipped.saturating_add(cycle - last - 1);
        }
        thread.add(cycle, latency);
    }
    into.skipped(foreign);
    if skipped > 0 {
        into.note(format_args!(
            "{skipped} wake-ups are not printed (--oscope prints the largest of several): quantiles are of the others"
        ));
    }
    put(threads, unit, into)
}

impl Thread {
    fn add(&mut self, cycle: u64, latency: u64) {
        self.min = if self.samples == 0 { latency } else { self.min.min(latency) };
        self.max = self.max.max(latency);
        self.sum += latency as f64;
        self.samples += 1;
        self.last = Some(cycle);
        self.counts.add(latency, 1);
    }
}

fn put(threads: BTreeMap<u32, Thread>, unit: Unit, into: &mut Collector) -> Result<(), Error> {
    let scale = unit.ns();
    for (number, thread) in threads {
        into.watched(Exposure { samples: Some(thread.samples), ..Exposure::default() });
        let latency = format!("cyclictest/T{number}/latency");
        let counts =
            thread.counts.iter().map(|(value, count)| (value.saturating_mul(scale), count)).collect();
        let max = Some(thread.max.saturating_mul(scale));
        let samples = Samples { counts, width: Some(scale), step: scale, max, ..Samples::default() };
        into.samples(&latency, Kind::TIME, samples)?;
        let step = scale as f64;
        let average = thread.sum / thread.samples as f64;
        for (word, value) in [("min", thread.min as f64), ("avg", average), ("max", thread.max as f64)] {
            let name = format!("cyclictest/T{number}/{word}");
            into.summary(&name, Kind::of_time(word).cut_to(step), value * step, &latency)?;
        }
    }
    Ok(())
}

/// Parses `       0:     123:      45`, with `--smi` and a further column.
fn sample(line: &str) -> Option<Sample> {
    let mut fields = line.splitn(3, ':').map(str::trim);
    let (thread, cycle) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let mut words = fields.next()?.split_ascii_whitespace();
    let latency = words.next()?.parse::<i64>().ok()?;
    let is_all = words.next().is_none_or(|smi| smi.parse::<u64>().is_ok()) && words.next().is_none();
    // A timer that fires early by the clock's error is printed with a negative latency.
    is_all.then_some(Sample { thread, cycle, latency: latency.max(0) as u64 })
}

/// Returns true for a line that begins as a wake-up and is none.
fn is_cut(line: &str) -> bool {
    let mut fields = line.splitn(3, ':').map(str::trim);
    let is_number = |field: Option<&str>| field.is_some_and(|field| field.parse::<u64>().is_ok());
    is_number(fields.next()) && is_number(fields.next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Clock;
    use dyntick_stats::Values;

    fn read(text: &str) -> Result<crate::Output, Error> {
        let mut collector = Collector::new(TOOL, Clock::Wall);
        metrics(text, &mut collector)?;
        collector.finish()
    }

    #[test]
    fn each_wake_up_is_a_sample() {
        let line = |thread: u32, cycle: u64, us: i64| format!("{thread:8}:{cycle:8}:{us:8}\n");
        let text = "Max CPUs = 2\n".to_owned()
            + &line(0, 0, 7)
            + &line(1, 0, 3)
            + &line(0, 1, -1)
            + &line(0, 4, 5)
            + &line(0, 0, 9);
        assert!(knows(&text) && !knows("12:30:15 started\n12:30:16 ended\nbye\n"));
        let output = read(&text).unwrap();
        let of = |name: &str| {
            let found = output.metrics.iter().find(|(known, _)| known.as_str() == name);
            found.unwrap().1.values.clone()
        };
        assert_eq!(of("cyclictest/T0/max"), Values::Runs(vec![7000.0, 9000.0]));
        let Values::Distribution(runs) = of("cyclictest/T0/latency") else { panic!() };
        assert_eq!(runs[0].counts.iter().collect::<Vec<_>>(), [(0, 1), (5000, 1), (7000, 1)]);
        assert_eq!((runs[0].width, runs.len()), (Some(1000), 2));
        assert!(output.notes.iter().any(|note| note.starts_with("2 wake-ups are not printed")));

        // Numbers that no run has add up to no more than fits.
        let far = |thread| line(thread, 0, 1) + &line(thread, u64::MAX, 1);
        let output = read(&(far(0) + &far(1))).unwrap();
        assert!(output.notes.iter().any(|note| note.starts_with(&format!("{} wake-ups", u64::MAX))));
    }

    #[test]
    fn line_that_is_cut_off_is_an_error() {
        let text = "       0:       0:       7\n       0:       1:       5\n       0:       2:\n";
        assert_eq!(read(text).unwrap_err(), Error::line(TOOL, 2, "       0:       2:"));
    }
}
