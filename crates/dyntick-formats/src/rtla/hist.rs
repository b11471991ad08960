// SPDX-License-Identifier: GPL-2.0-only
//! `rtla timerlat hist` and `rtla osnoise hist`: a row for each bucket, a column for each measurement on each CPU, and
//! below them `over:`, `count:`, `min:`, `avg:`, `max:` (some versions without the colon).

use super::{TOOL, is_empty, scale};
use crate::Error;
use crate::metrics::{Collector, Kind};
use dyntick_stats::{Exposure, Histogram, Samples};
use std::collections::BTreeSet;

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// `timerlat/cpu0/irq`, `timerlat/cpu0/thread`, `timerlat/cpu0/user` or `osnoise/cpu0/noise`.
    pub name: String,
    /// The latencies, or the durations of single noises, in ns.
    pub samples: Samples,
    /// The smallest in ns.
    pub min: Option<u64>,
    /// The mean in ns, as rtla cuts it.
    pub average: Option<u64>,
}

pub fn is(text: &str) -> bool {
    ["# RTLA timerlat histogram", "# RTLA osnoise histogram"].iter().any(|mark| text.contains(mark))
}

/// Reads the columns in their order. The text after the table (the sums over all CPUs, the analysis of an exceeded
/// threshold) is skipped.
pub fn parse(text: &str) -> Result<Vec<Column>, Error> {
    let header = text.lines().filter(|line| line.starts_with('#'));
    let scale = header.map(scale).min().unwrap_or(1000);
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with("Index"));
    let (index, head) = lines.next().ok_or(Error::Nothing { tool: TOOL })?;
    let columns = head.split_ascii_whitespace().skip(1).map(name).collect::<Option<Vec<String>>>();
    let columns = columns.ok_or_else(|| Error::line(TOOL, index, head))?;
    let mut table = Table {
        scale,
        rows: vec![(Histogram::default(), Foot::default()); columns.len()],
        buckets: BTreeSet::new(),
    };
    for (index, line) in lines.take_while(|(_, line)| !is_end(line)) {
        table.line(line).ok_or_else(|| Error::line(TOOL, index, line))?;
    }
    let (scale, width) = (table.scale, table.width());
    let columns = columns.into_iter().zip(table.rows);
    Ok(columns.map(|(name, (counts, foot))| foot.column(name, counts, scale, width)).collect())
}

fn is_end(line: &str) -> bool {
    line.trim().is_empty() || ["ALL", "rtla ", "##", "#"].iter().any(|mark| line.starts_with(mark))
}

/// Translates `IRQ-000`, `Thr-000`, `Usr-000`, `CPU-000`.
fn name(word: &str) -> Option<String> {
    let (kind, cpu) = word.split_once('-')?;
    let cpu: u32 = cpu.parse().ok()?;
    Some(match kind {
        "IRQ" => format!("timerlat/cpu{cpu}/irq"),
        "Thr" => format!("timerlat/cpu{cpu}/thread"),
        "Usr" => format!("timerlat/cpu{cpu}/user"),
        "CPU" => format!("osnoise/cpu{cpu}/noise"),
        _ => return None,
    })
}

/// The figures below a column, in ns except the count.
#[derive(Clone, Copy, Default)]
struct Foot {
    over: u64,
    min: Option<u64>,
    average: Option<u64>,
    max: Option<u64>,
}

impl Foot {
    fn column(self, name: String, counts: Histogram, scale: u64, width: Option<u64>) -> Column {
        let Foot { over, min, average, max } = self;
        let mean = average.map(|average| average as f64);
        let samples = Samples { counts, width, step: scale, overflows: over, max, mean };
        Column { name, samples, min, average }
    }
}

struct Table {
    scale: u64,
    rows: Vec<(Histogram, Foot)>,
    /// The buckets that have a row.
    buckets: BTreeSet<u64>,
}

impl Table {
    /// The width of a bucket (`--bucket-size`), which is not printed. Each bucket begins at a multiple, and all-zero
    /// rows are left out: it divides all begins, so their greatest common divisor is the width, or more. Of the row 0
    /// alone it is unknown. Of one other row it may be anything from the unit up to where the row begins.
    fn width(&self) -> Option<u64> {
        let divisor =
            self.buckets.iter().fold(0, |divisor, bucket| greatest_common_divisor(divisor, *bucket));
        (self.buckets.len() > 1 || divisor == self.scale).then_some(divisor).filter(|divisor| *divisor > 0)
    }

    /// Takes a row; `None` if it is not understood.
    fn line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let label = words.next()?.trim_end_matches(':');
        let cell = |word: &str| if word == "-" { Some(None) } else { word.parse::<u64>().ok().map(Some) };
        let cells = words.map(cell).collect::<Option<Vec<Option<u64>>>>()?;
        let bucket = label.parse::<u64>().ok();
        let known = bucket.is_some() || ["over", "count", "min", "avg", "max"].contains(&label);
        if !known || cells.len() != self.rows.len() {
            return None;
        }
        self.buckets.extend(bucket.map(|bucket| bucket.saturating_mul(self.scale)));
        for ((counts, foot), cell) in self.rows.iter_mut().zip(cells) {
            let time = cell.map(|time| time.saturating_mul(self.scale));
            match (bucket, label) {
                (Some(bucket), _) => counts.add(bucket.saturating_mul(self.scale), cell.unwrap_or(0)),
                (None, "over") => foot.over = cell.unwrap_or(0),
                (None, "min") => foot.min = time,
                (None, "avg") => foot.average = time,
                (None, "max") => foot.max = time,
                _ => {}
            }
        }
        Some(())
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Column {
    /// Adds the metrics, unless the CPU has no samples.
    pub(super) fn put(&self, exposure: Exposure, into: &mut Collector) -> Result<(), Error> {
        if is_empty(&self.samples) {
            return Ok(());
        }
        let name = format!("rtla/{}", self.name);
        let count = self.samples.counts.total().saturating_add(self.samples.overflows);
        into.watched(Exposure { samples: Some(count), ..exposure });
        into.samples(&name, Kind::TIME, self.samples.clone())?;
        for (word, value) in [("min", self.min), ("avg", self.average), ("max", self.samples.max)] {
            if let Some(value) = value {
                let kind = Kind::of_time(word).cut_to(self.samples.step as f64);
                into.summary(&format!("{name}/{word}"), kind, value as f64, &name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "# RTLA timerlat histogram\n# Time unit is nanoseconds (ns)\nIndex   IRQ-000   Thr-003   Usr-003\n";

    #[test]
    fn nanoseconds_dashes_and_sums_are_read() {
        let text = format!(
            "{HEAD}10  5 0 1\nover 1 0 0\ncount 6 0 1\nmin 10 - 10\navg: 11 - 10\nmax: 99 - 10\nALL:  IRQ  Thr  Usr\n"
        );
        let columns = parse(&text).unwrap();
        assert_eq!(columns.len(), 3);
        assert_eq!(columns[0].name, "timerlat/cpu0/irq");
        assert_eq!(
            (columns[0].samples.max, columns[0].average, columns[0].samples.overflows),
            (Some(99), Some(11), 1)
        );
        assert!(is_empty(&columns[1].samples) && columns[2].name == "timerlat/cpu3/user");
    }

    #[test]
    fn width_of_a_bucket_divides_the_begins_of_rows() {
        let read = |rows: &str| parse(&format!("{HEAD}{rows}over: 0 0 0\n")).unwrap()[0].samples.width;
        assert_eq!(read("0 9 9 9\n10 0 1 0\n30 0 1 0\n"), Some(10));
        assert_eq!(read("0 9 9 9\n"), None);
        assert_eq!(read("0 9 9 9\n20 0 1 0\n50 0 1 0\n"), Some(10), "no row follows another");
        assert_eq!(read("3 9 9 9\n7 0 1 0\n"), Some(1));
    }

    #[test]
    fn invalid_output_is_refused() {
        assert_eq!(parse(&format!("{HEAD}10 5 0\n")).unwrap_err(), Error::line(TOOL, 3, "10 5 0"));
        assert!(parse(&HEAD.replace("IRQ-000", "XYZ-000")).is_err());
        assert_eq!(parse("# RTLA osnoise histogram\n1 2\n").unwrap_err(), Error::Nothing { tool: TOOL });
    }
}
