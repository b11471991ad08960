// SPDX-License-Identifier: GPL-2.0-only
//! The output of cyclictest (rt-tests 2.x: `src/cyclictest/cyclictest.c`, `print_stat` and
//! `print_hist`): a status line for each thread, and after `--histogram` or `--histofall` a histogram.
//! This module reads it, and the file of `--json` too; [`Status`], [`Columns`] and [`Json`] write the same.

mod json;
mod measured;
mod print;
pub(crate) mod verbose;

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

/// The threads of one run, and what the text says of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The threads by their numbers.
    pub threads: BTreeMap<u32, Thread>,
    /// The interval between wake-ups of the first thread, µs.
    pub interval_us: Option<u64>,
    /// The widths of the columns of the smallest and the last latency, in the last status line.
    widths: Option<[usize; 2]>,
}

/// Reads the threads of the last run by their numbers.
pub fn parse(text: &str) -> Result<BTreeMap<u32, Thread>, CyclictestError> {
    let (mut runs, _) = runs(text)?;
    runs.pop().map(|run| run.threads).ok_or(CyclictestError::NoThread)
}

/// Reads each run, without the list of `--spike`, and the number of lines that are not cyclictest's. Line lines are
/// printed repeatedly, and the last one of a run counts. With `--quiet` and a histogram there are none, but the
/// histogram's foot has the same figures.
pub fn runs(text: &str) -> Result<(Vec<Run>, usize), CyclictestError> {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        reader.line(index, line)?;
    }
    reader.end_run()?;
    if reader.runs.is_empty() { Err(CyclictestError::NoThread) } else { Ok((reader.runs, reader.foreign)) }
}

#[derive(Default)]
struct Reader {
    runs: Vec<Run>,
    run: Run,
    ids: BTreeMap<u32, u64>,
    histogram: Printed,
    /// A line below a histogram's rows that is none of them: an error if another row follows.
    unread: Option<CyclictestError>,
    foreign: usize,
}

impl Reader {
    fn line(&mut self, index: usize, line: &str) -> Result<(), CyclictestError> {
        let wrong = || CyclictestError::Line { line: index + 1, text: line.chars().take(60).collect() };
        if let Some(found) = status_in(line) {
            let status = status(found).ok_or_else(wrong)?;
            return self.status(status);
        }
        match self.histogram.kind(line).ok_or_else(wrong)? {
            Kind::Heading => {
                if self.histogram.is_begun(line) {
                    self.end_run()?;
                }
                self.histogram.heading(line).ok_or_else(wrong)?;
            }
            Kind::Row(row) => {
                if let Some(error) = self.unread.take() {
                    return Err(error);
                }
                self.histogram.rows.push(row);
            }
            Kind::Foreign => {
                self.foreign += 1;
                if self.histogram.in_rows && self.unread.is_none() {
                    self.unread = Some(wrong());
                }
            }
            Kind::Own => {}
        }
        Ok(())
    }

    /// Takes a status line. Another task of the same thread, or fewer cycles, begin another run.
    fn status(&mut self, status: Line) -> Result<(), CyclictestError> {
        let before = self.ids.get(&status.number).copied().unwrap_or(0);
        let other = before > 0 && status.id > 0 && before != status.id;
        let fewer = self.run.threads.get(&status.number).is_some_and(|old| status.thread.cycles < old.cycles);
        if other || fewer || !self.histogram.rows.is_empty() {
            self.end_run()?;
        }
        self.ids.insert(status.number, status.id);
        self.run.interval_us = self.run.interval_us.or(status.interval_us);
        self.run.widths = status.widths;
        self.run.threads.insert(status.number, status.thread);
        Ok(())
    }

    fn end_run(&mut self) -> Result<(), CyclictestError> {
        let histogram = std::mem::take(&mut self.histogram);
        let mut run = std::mem::take(&mut self.run);
        self.ids.clear();
        self.unread = None;
        if run.threads.is_empty() && !histogram.rows.is_empty() {
            let threads = histogram.threads().ok_or(CyclictestError::CutOff)?;
            run.threads = (0..).zip(std::iter::repeat_n(Thread::default(), threads)).collect();
            histogram.put_counts(&mut run.threads);
            histogram.put_foot(&mut run.threads);
        } else {
            histogram.put_counts(&mut run.threads);
        }
        if !run.threads.is_empty() {
            self.runs.push(run);
        }
        Ok(())
    }
}

/// The kind of a line that is no status line.
enum Kind {
    /// A line of cyclictest that says nothing of a thread.
    Own,
    Heading,
    Row((u64, Vec<u64>)),
    Foreign,
}

/// A printed histogram: a line for each latency, a column for each thread. With `--histofall` a last column has the
/// sum of the others. Versions before 1.0 print the foot above the rows.
#[derive(Default)]
struct Printed {
    in_rows: bool,
    rows: Vec<(u64, Vec<u64>)>,
    foot: BTreeMap<String, Vec<u64>>,
    headings: usize,
}

impl Printed {
    /// The kind of a line; `None` for a row that is not understood.
    fn kind(&self, line: &str) -> Option<Kind> {
        let trimmed = line.trim();
        if trimmed.starts_with('#') {
            return Some(Kind::Heading);
        }
        if trimmed.is_empty() || trimmed.starts_with("policy:") || is_spike(trimmed) {
            return Some(Kind::Own);
        }
        let first = trimmed.split_ascii_whitespace().next().unwrap_or("");
        let is_row = first.len() >= 4 && first.bytes().all(|byte| byte.is_ascii_digit());
        if !is_row || !(self.in_rows || self.foot.contains_key(MIN)) {
            return Some(Kind::Foreign);
        }
        let row = numbers(trimmed)?;
        let (latency, counts) = row.split_first()?;
        (!counts.is_empty()).then(|| Kind::Row((*latency, counts.to_vec())))
    }

    /// Returns true if this heading begins another histogram.
    fn is_begun(&self, line: &str) -> bool {
        let heading = line.trim().trim_start_matches('#').trim();
        let again = heading.split_once(':').is_some_and(|(name, _)| self.foot.contains_key(name));
        !self.rows.is_empty() && (again || heading == "Histogram")
    }

    fn heading(&mut self, line: &str) -> Option<()> {
        let heading = line.trim().trim_start_matches('#').trim();
        self.in_rows = heading == "Histogram";
        self.headings += usize::from(heading.starts_with("Thread "));
        if let Some((name, figures)) = heading.split_once(':').filter(|(name, _)| FOOT.contains(name)) {
            self.foot.insert(name.to_owned(), numbers(figures)?);
        }
        Some(())
    }

    /// The number of threads; `None` without the foot, which has their largest latencies.
    fn threads(&self) -> Option<usize> {
        let columns = self.rows.iter().map(|(_, counts)| counts.len()).max()?;
        self.foot.get(MAX)?;
        let stated = if self.headings > 0 { Some(self.headings) } else { self.foot.get(MIN).map(Vec::len) };
        Some(stated.map_or(columns, |count| count.min(columns)))
    }

    /// Stores the figures of a line of the foot with their threads.
    fn put(&self, name: &str, threads: &mut BTreeMap<u32, Thread>, place: fn(&mut Thread, u64)) {
        let figures = self.foot.get(name).into_iter().flatten();
        threads.values_mut().zip(figures).for_each(|(thread, figure)| place(thread, *figure));
    }

    fn put_foot(&self, threads: &mut BTreeMap<u32, Thread>) {
        self.put(MIN, threads, |thread, n| thread.min = n);
        self.put("Avg Latencies", threads, |thread, n| thread.average = n);
        self.put(MAX, threads, |thread, n| thread.max = n);
        for thread in threads.values_mut() {
            thread.cycles = thread.histogram.total().saturating_add(thread.overflows);
        }
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
const FOOT: [&str; 5] = ["Total", MIN, "Avg Latencies", MAX, OVERFLOWS];
const MIN: &str = "Min Latencies";
const MAX: &str = "Max Latencies";
const OVERFLOWS: &str = "Histogram Overflows";

fn is_spike(line: &str) -> bool {
    line.contains(" Spike:") || line.starts_with("spikes = ")
}

/// A status line.
struct Line {
    number: u32,
    id: u64,
    interval_us: Option<u64>,
    widths: Option<[usize; 2]>,
    thread: Thread,
}

/// The status line in a line, which may have other text before it. signaltest's has no interval, cyclicdeadline's no
/// priority.
pub(crate) fn status_in(line: &str) -> Option<&str> {
    let is_head = |rest: &str| {
        let rest = rest.trim_start();
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        number.len() < rest.len() && number.trim_start().starts_with('(')
    };
    let found = line.match_indices("T:").find(|(at, _)| is_head(&line[at + 2..]))?;
    let line = &line[found.0..];
    (!line.contains(" Min:") || line.contains(" I:") && line.contains(" P:")).then_some(line)
}

/// Parses `T: 0 (  162) P:95 I:1000 C:   1998 Min:   3543 Act: 3607 Avg: 4129 Max:  785070 SMI:       0`.
fn status(line: &str) -> Option<Line> {
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
    let width = |from: &str, to: &str| Some(line.split_once(from)?.1.split_once(to)?.0.len());
    let id = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')?.0.trim().parse().ok());
    Some(Line {
        number: u32::try_from(field("T:")?).ok()?,
        id: id.unwrap_or(0),
        interval_us: field("I:"),
        widths: width("Min:", " Act:").zip(width("Act:", " Avg:")).map(|(min, act)| [min, act]),
        thread,
    })
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

    /// A histogram of one thread with two rows.
    fn histogram(counts: [u32; 2], max: u32) -> String {
        format!(
            "# Histogram\n000002 {:06}\n000003 {:06}\n# Total: 000000000\n# Min Latencies: 00002\n\
             # Avg Latencies: 00002\n# Max Latencies: {max:05}\n# Histogram Overflows: 00001\n\
             # Histogram Overflow at cycle number:\n# Thread 0: 00001\n",
            counts[0], counts[1]
        )
    }

    #[test]
    fn each_histogram_is_a_run() {
        let (runs, foreign) = runs(&(histogram([5, 6], 9) + "$ again\n" + &histogram([1, 2], 7))).unwrap();
        let of = |run: &Run| (run.threads[&0].cycles, run.threads[&0].max, run.threads[&0].histogram.total());
        assert_eq!(runs.iter().map(of).collect::<Vec<_>>(), [(12, 9, 11), (4, 7, 3)]);
        assert_eq!(foreign, 1);
    }

    #[test]
    fn each_start_is_a_run() {
        let line = |id: u32, cycles: u32| {
            format!(
                "T: 0 ({id:5}) P:95 I:1000 C:{cycles:7} Min:      2 Act:    2 Avg:    2 Max:       {cycles}\n"
            )
        };
        let text = line(0, 0) + &line(7, 3) + &line(7, 5) + &line(8, 9);
        let (runs, _) = runs(&text).unwrap();
        assert_eq!(runs.iter().map(|run| run.threads[&0].max).collect::<Vec<_>>(), [5, 9]);
    }

    #[test]
    fn foot_above_the_rows_and_other_lines_are_read() {
        let text = "START: cyclictest\n# Total: 000000003\n# Min Latencies: 00007\n# Avg Latencies: 00007\n\
                    # Max Latencies: 00009\n# Histogram Overflows: 00001\n\n000007 000002\n000008 000001\n";
        let threads = parse(text).unwrap();
        assert_eq!((threads.len(), threads[&0].cycles, threads[&0].max), (1, 4, 9));
        let torn = histogram([5, 6], 9).replace("000003", "x\n000003");
        assert_eq!(parse(&torn).unwrap_err(), CyclictestError::Line { line: 3, text: "x".into() });
        let cut = histogram([5, 6], 9).split("# Total").next().unwrap().to_owned();
        assert_eq!(parse(&cut), Err(CyclictestError::CutOff));
    }

    #[test]
    fn signaltest_is_another_tool() {
        let line = "T: 0 (25127) P: 0 C:    200 Min:     10 Act:   14 Avg:   59 Max:    1940\n";
        assert_eq!(parse(line), Err(CyclictestError::NoThread));
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
