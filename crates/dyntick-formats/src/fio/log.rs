// SPDX-License-Identifier: GPL-2.0-only
//! The logs of fio (`write_lat_log`, `write_bw_log`, `write_iops_log`; HOWTO, "Log File Formats"): a line for each
//! operation or interval, with the time in ms, the value, the direction, the block size, and since 2.2 the offset. Only
//! the file's name says what the values are: `NAME_lat.1.log`.

use super::TOOL;
use crate::Error;
use crate::cyclictest::Unit;
use crate::metrics::{Collector, Kind};
use dyntick_stats::{Exposure, Histogram, Samples};

/// The directions by their numbers.
const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "sync"];

/// The quantities by the end of the file's name.
const QUANTITIES: [(&str, Quantity); 5] = [
    ("_slat", Quantity::Latency("slat")),
    ("_clat", Quantity::Latency("clat")),
    ("_lat", Quantity::Latency("lat")),
    ("_bw", Quantity::Bandwidth),
    ("_iops", Quantity::Operations),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Quantity {
    /// In ns; in µs before fio 3.
    Latency(&'static str),
    /// In KiB/s.
    Bandwidth,
    /// In 1/s.
    Operations,
}

/// One line.
struct Entry {
    ms: u64,
    value: u64,
    direction: usize,
    /// The size of one operation; 0 for the mean of an interval (`log_avg_msec`).
    bytes: u64,
}

/// The lines of one direction.
#[derive(Default)]
struct Log {
    values: Histogram,
    lines: u64,
    sum: f64,
    bytes: f64,
    last_ms: u64,
    has_means: bool,
}

/// Returns true if all lines have fio's fields.
pub(crate) fn knows(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    lines.peek().is_some() && lines.all(|line| entry(line).is_some())
}

/// Adds the figures of each direction.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let Some((quantity, job)) = into.file().and_then(quantity) else {
        return Err(Error::Unread {
            tool: TOOL,
            fix: "only the name of a log says what its values are: call it NAME_lat.1.log, NAME_bw.1.log or \
                  NAME_iops.1.log, as fio does",
        });
    };
    let mut logs: [Log; DIRECTIONS.len()] = Default::default();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let entry = entry(line).ok_or_else(|| Error::line(TOOL, index, line))?;
        logs[entry.direction].add(&entry);
    }
    let unit = into.unit().unwrap_or(Unit::Nano);
    if matches!(quantity, Quantity::Latency(_)) && into.unit().is_none() {
        into.note("a log does not state the unit: read as ns, as of fio 3; of fio 2, compare with --unit us");
    }
    for (direction, log) in DIRECTIONS.iter().zip(logs).filter(|(_, log)| log.lines > 0) {
        log.put(&format!("fio/{job}/{direction}"), quantity, unit, into)?;
    }
    Ok(())
}

/// The quantity and the job that the name of a log says: `seq_lat.2.log` is of the second job.
fn quantity(file: &str) -> Option<(Quantity, String)> {
    let stem = file.strip_suffix(".log").unwrap_or(file);
    let (stem, number) = match stem.rsplit_once('.') {
        Some((stem, number)) if number.parse::<u32>().is_ok() => (stem, number),
        _ => (stem, "1"),
    };
    let (_, quantity) = QUANTITIES.iter().find(|(end, _)| stem.ends_with(end))?;
    Some((*quantity, format!("log#{number}")))
}

impl Log {
    fn add(&mut self, entry: &Entry) {
        self.values.add(entry.value, 1);
        self.lines += 1;
        self.sum += entry.value as f64;
        self.bytes += entry.bytes as f64;
        self.last_ms = self.last_ms.max(entry.ms);
        self.has_means |= entry.bytes == 0;
    }

    fn put(self, name: &str, quantity: Quantity, unit: Unit, into: &mut Collector) -> Result<(), Error> {
        let seconds = self.last_ms as f64 / 1e3;
        into.watched(Exposure { samples: Some(self.lines), seconds: Some(seconds), stopped_early: false });
        let mean = self.sum / self.lines as f64;
        match quantity {
            Quantity::Latency(word) if self.has_means => {
                into.note("it has the mean of each interval (log_avg_msec), so only the mean is read");
                into.value(&format!("{name}/{word}/mean"), Kind::TIME, mean * unit.ns() as f64)
            }
            Quantity::Latency(word) => {
                let scale = unit.ns();
                let counts: Histogram =
                    self.values.iter().map(|(value, count)| (value.saturating_mul(scale), count)).collect();
                let samples = Samples { width: Some(scale), step: scale, ..Samples::from(counts) };
                into.samples(&format!("{name}/{word}"), Kind::TIME, samples)
            }
            // A line for each operation has its own speed, of which the mean is not that of the run.
            Quantity::Bandwidth if self.is_of_operations() => {
                into.value(&format!("{name}/bw"), Kind::BANDWIDTH, self.bytes / seconds)
            }
            Quantity::Operations if self.is_of_operations() => {
                into.value(&format!("{name}/iops"), Kind::RATE, self.lines as f64 / seconds)
            }
            Quantity::Bandwidth => into.value(&format!("{name}/bw"), Kind::BANDWIDTH, mean * 1024.0),
            Quantity::Operations => into.value(&format!("{name}/iops"), Kind::RATE, mean),
        }
    }

    /// Returns true if the lines are more than intervals can be: fio's are of at least 500 ms, unless another is asked
    /// for.
    fn is_of_operations(&self) -> bool {
        const SHORTEST_MS: u64 = 10;
        !self.has_means && self.last_ms > 0 && self.lines > self.last_ms / SHORTEST_MS
    }
}

/// Parses `4, 45123, 0, 4096, 0`; newer versions add the priority and the time of the request.
fn entry(line: &str) -> Option<Entry> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let is_number = |field: &&str| match field.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).is_ok(),
        None => field.parse::<u64>().is_ok(),
    };
    if !(4..=8).contains(&fields.len()) || !fields.iter().all(is_number) {
        return None;
    }
    let direction: usize = fields[2].parse().ok()?;
    let [ms, value, bytes] = [fields[0].parse().ok()?, fields[1].parse().ok()?, fields[3].parse().ok()?];
    (direction < DIRECTIONS.len()).then_some(Entry { ms, value, direction, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hints, Output};
    use dyntick_model::Clock;
    use dyntick_stats::Values;

    fn read(text: &str, file: Option<&str>) -> Result<Output, Error> {
        let hints = Hints { file, ..Hints::default() };
        let mut collector = Collector::new(TOOL, Clock::Wall).with(hints);
        metrics(text, &mut collector)?;
        collector.finish()
    }

    fn value(text: &str, file: &str, name: &str) -> f64 {
        let output = read(text, Some(file)).unwrap();
        let found = output.metrics.iter().find(|(known, _)| known.as_str() == name);
        match &found.unwrap_or_else(|| panic!("{output:?}")).1.values {
            Values::Runs(values) => values[0],
            Values::Distribution(runs) => runs[0].counts.quantile(1.0).unwrap() as f64,
        }
    }

    const OPERATIONS: &str = "0, 45000, 0, 4096, 0\n1, 47000, 0, 4096, 8192\n2, 91000, 1, 4096, 0\n";

    #[test]
    fn name_of_a_log_says_what_it_has() {
        assert!(knows(OPERATIONS) && !knows("1,2,3\n") && !knows("1, 2, 7, 4\n") && !knows(""));
        assert_eq!(value(OPERATIONS, "x_clat.2.log", "fio/log#2/read/clat"), 47_000.0);
        assert_eq!(value(OPERATIONS, "x_lat.log", "fio/log#1/write/lat"), 91_000.0);
        let intervals = "500, 2000, 0, 4096\n1000, 4000, 0, 4096\n";
        assert_eq!(value(intervals, "x_bw.1.log", "fio/log#1/read/bw"), 3000.0 * 1024.0);
        assert_eq!(value(intervals, "x_iops.1.log", "fio/log#1/read/iops"), 3000.0);
        let refused = read(OPERATIONS, Some("run.txt")).unwrap_err().to_string();
        assert!(refused.contains("call it NAME_lat.1.log"), "{refused}");
    }

    #[test]
    fn means_of_intervals_are_no_samples() {
        let text = "1000, 40000, 0, 0\n2000, 60000, 0, 0\n";
        assert_eq!(value(text, "x_lat.1.log", "fio/log#1/read/lat/mean"), 50_000.0);
        assert!(read(text, Some("x_lat.1.log")).unwrap().metrics.len() == 1);
    }

    #[test]
    fn speeds_of_single_operations_are_not_averaged() {
        let text: String = (0..100).map(|ms| format!("{ms}, 800000, 1, 4096, 0\n")).collect();
        assert_eq!(value(&text, "x_bw.1.log", "fio/log#1/write/bw").round(), (409_600.0f64 / 0.099).round());
    }
}
