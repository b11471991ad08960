// SPDX-License-Identifier: GPL-2.0-only
//! Status lines and histograms, byte for byte as rt-tests 2.4 prints them.

use std::fmt;
use std::io::{self, Write};

/// The unit of all printed latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds, rounded down.
    #[default]
    Micro,
    /// Nanoseconds: `--nsecs`.
    Nano,
}

impl Unit {
    /// The length of one unit in ns.
    pub fn ns(self) -> u64 {
        match self {
            Unit::Micro => 1000,
            Unit::Nano => 1,
        }
    }
}

/// The status line of a thread, with latencies in the printed unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The unit, which decides the width of some columns.
    pub unit: Unit,
    /// The thread's number, from 0.
    pub number: usize,
    /// The thread ID; 0 before it runs.
    pub tid: i32,
    /// Its real-time priority; 0 under another policy.
    pub priority: u32,
    /// The interval between wake-ups, µs.
    pub interval_us: u64,
    /// The number of wake-ups.
    pub cycles: u64,
    /// The smallest latency; 1000000 if there is none yet.
    pub min: u64,
    /// The last latency.
    pub act: u64,
    /// The mean, rounded down.
    pub average: u64,
    /// The largest.
    pub max: u64,
    /// The number of system management interrupts, if counted.
    pub smi: Option<u64>,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, tid, priority, interval_us, cycles, min, act, average, max, .. } = self;
        let width = match self.unit {
            Unit::Micro => 5,
            Unit::Nano => 8,
        };
        write!(
            f,
            "T:{number:2} ({tid:5}) P:{priority:2} I:{interval_us} C:{cycles:7} \
             Min:{min:7} Act:{act:width$} Avg:{average:width$} Max:{max:8}"
        )?;
        self.smi.map_or(Ok(()), |smi| write!(f, " SMI:{smi:8}"))
    }
}

/// The histogram's column of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The number of occurrences of each latency from 0 to the histogram's limit, exclusive.
    pub counts: Vec<u64>,
    /// The number of latencies at or above the limit.
    pub overflows: u64,
    /// The wake-ups, from 0, of the first latencies above the limit.
    pub overflow_cycles: Vec<u64>,
    /// The thread's other figures.
    pub status: Status,
}

/// A histogram: a row for each latency, a column for each thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The threads in their order.
    pub threads: Vec<Column>,
    /// The upper limit of latencies, exclusive.
    pub limit: usize,
    /// True for a last column with the sum of the others, if there are several (`--histofall`).
    pub sum: bool,
}

impl Columns {
    /// Writes the histogram with its foot and a final empty line.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "# Histogram")?;
        for latency in 0..self.limit {
            let count = |thread: &Column| thread.counts.get(latency).copied().unwrap_or(0);
            let row: Vec<String> =
                self.with_sum(self.each(count)).iter().map(|count| format!("{count:06}")).collect();
            writeln!(out, "{latency:06} {}", row.join("\t"))?;
        }
        self.foot(out)
    }

    fn foot(&self, out: &mut impl Write) -> io::Result<()> {
        let total = self.each(|thread| thread.counts.iter().sum());
        line(out, "Total", &self.with_sum(total), 9)?;
        line(out, "Min Latencies", &self.each(|thread| thread.status.min), 5)?;
        line(out, "Avg Latencies", &self.each(|thread| thread.status.average), 5)?;
        let mut max = self.each(|thread| thread.status.max);
        if self.sums() {
            max.extend(max.iter().max().copied());
        }
        line(out, "Max Latencies", &max, 5)?;
        line(out, "Histogram Overflows", &self.with_sum(self.each(|thread| thread.overflows)), 5)?;
        writeln!(out, "# Histogram Overflow at cycle number:")?;
        for (number, thread) in self.threads.iter().enumerate() {
            write!(out, "# Thread {number}:")?;
            thread.overflow_cycles.iter().try_for_each(|cycle| write!(out, " {cycle:05}"))?;
            match thread.overflows.saturating_sub(thread.overflow_cycles.len() as u64) {
                0 => writeln!(out)?,
                others => writeln!(out, " # {others:05} others")?,
            }
        }
        let smis: Vec<u64> = self.threads.iter().filter_map(|thread| thread.status.smi).collect();
        if !smis.is_empty() {
            line(out, "SMIs", &smis, 5)?;
        }
        writeln!(out)
    }

    fn each(&self, figure: impl Fn(&Column) -> u64) -> Vec<u64> {
        self.threads.iter().map(figure).collect()
    }

    fn sums(&self) -> bool {
        self.sum && self.threads.len() > 1
    }

    fn with_sum(&self, mut figures: Vec<u64>) -> Vec<u64> {
        if self.sums() {
            figures.push(figures.iter().sum());
        }
        figures
    }
}

fn line(out: &mut impl Write, name: &str, figures: &[u64], width: usize) -> io::Result<()> {
    let figures: Vec<String> = figures.iter().map(|figure| format!(" {figure:0width$}")).collect();
    writeln!(out, "# {name}:{}", figures.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclictest::parse;
    use proptest::prelude::*;

    /// The output of rt-tests 2.4.
    const REAL: &str = "T: 0 (20147) P:95 I:1000 C:     20 Min:     28 Act:   28 Avg:   39 Max:      51";
    const REAL_NS: &str =
        "T: 0 ( 1919) P:95 I:1000 C:      1 Min:  50313 Act:   50313 Avg:   50313 Max:   50313";

    #[test]
    fn status_lines_are_printed_as_by_rt_tests() {
        let status = Status {
            tid: 20147,
            priority: 95,
            interval_us: 1000,
            cycles: 20,
            min: 28,
            act: 28,
            average: 39,
            max: 51,
            ..Status::default()
        };
        assert_eq!(status.to_string(), REAL);
        let (unit, tid, cycles) = (Unit::Nano, 1919, 1);
        let [min, act, average, max] = [50313; 4];
        let status = Status { unit, tid, cycles, min, act, average, max, ..status };
        assert_eq!(status.to_string(), REAL_NS);
        let smi = Status { smi: Some(3), ..status };
        assert_eq!(smi.to_string(), format!("{REAL_NS} SMI:       3"));
    }

    fn column(counts: Vec<u64>, overflows: u64) -> Column {
        let status = Status { min: 3, average: 4, max: 9, ..Status::default() };
        Column { counts, overflows, overflow_cycles: (0..overflows.min(2)).collect(), status }
    }

    #[test]
    fn histogram_is_printed_with_its_sum() {
        let columns =
            Columns { threads: vec![column(vec![0, 5], 3), column(vec![1, 0], 0)], limit: 2, sum: true };
        let mut text = Vec::new();
        columns.write(&mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "# Histogram\n000000 000000\t000001\t000001\n000001 000005\t000000\t000005\n\
             # Total: 000000005 000000001 000000006\n# Min Latencies: 00003 00003\n\
             # Avg Latencies: 00004 00004\n# Max Latencies: 00009 00009 00009\n\
             # Histogram Overflows: 00003 00000 00003\n# Histogram Overflow at cycle number:\n\
             # Thread 0: 00000 00001 # 00001 others\n# Thread 1:\n\n"
        );
    }

    proptest! {
        #[test]
        fn written_histogram_is_read_back(
            counts in prop::collection::vec(prop::collection::vec(0u64..2_000_000, 5), 1..4),
            sum: bool,
            figures in prop::array::uniform5(0u64..99_999_999),
        ) {
            let [cycles, min, act, average, max] = figures;
            let threads: Vec<Column> = counts.iter().enumerate().map(|(number, counts)| Column {
                counts: counts.clone(),
                overflows: cycles,
                overflow_cycles: Vec::new(),
                status: Status { number, cycles, min, act, average, max, interval_us: 1000, ..Status::default() },
            }).collect();
            let mut text = Vec::new();
            threads.iter().try_for_each(|thread| writeln!(text, "{}", thread.status)).unwrap();
            Columns { threads, limit: 5, sum }.write(&mut text).unwrap();
            let read = parse(std::str::from_utf8(&text).unwrap()).unwrap();
            prop_assert_eq!(read.len(), counts.len());
            for (thread, counts) in read.values().zip(&counts) {
                prop_assert_eq!([thread.cycles, thread.min, thread.average, thread.max, thread.overflows],
                    [cycles, min, average, max, cycles]);
                let occurred: Vec<(u64, u64)> =
                    (0..).zip(counts.iter().copied()).filter(|(_, count)| *count > 0).collect();
                prop_assert_eq!(thread.histogram.iter().collect::<Vec<_>>(), occurred);
            }
        }
    }
}
