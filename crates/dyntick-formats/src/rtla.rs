// SPDX-License-Identifier: GPL-2.0-only
//! The output of rtla (Linux 6.1 to 7.2, `tools/tracing/rtla/src`): the histograms and the tables of `timerlat` and
//! `osnoise`. Their columns depend on version and options, so the header decides.

mod hist;
mod top;

use crate::Error;
use crate::metrics::Collector;
use dyntick_stats::{Exposure, Samples};

const TOOL: &str = "rtla";

pub use hist::Column;
pub use top::{Noise, Row, Timer};

/// A histogram or a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// `timerlat hist` or `osnoise hist`.
    Hist(Vec<Column>),
    /// `timerlat top` or `osnoise top`.
    Top(Vec<Row>),
}

/// Reads the report. If a table was printed several times (top), the last counts.
pub fn parse(text: &str) -> Result<Report, Error> {
    if hist::is(text) { hist::parse(text).map(Report::Hist) } else { top::parse(text).map(Report::Top) }
}

pub(crate) fn knows(text: &str) -> bool {
    hist::is(text) || top::is(text)
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let exposure = exposure(text);
    if exposure.stopped_early {
        into.note("rtla stopped at its threshold, at the first latency above it: its maximum says nothing of how often");
    }
    match parse(text)? {
        Report::Hist(columns) => columns.iter().try_for_each(|column| column.put(exposure, into)),
        Report::Top(rows) => rows.iter().try_for_each(|row| row.put(exposure, into)),
    }
}

/// The time that the last report states, and if rtla stopped at a threshold.
fn exposure(text: &str) -> Exposure {
    let stated = text.lines().rev().find_map(|line| {
        let line = line.trim_start_matches(['#', ' ']);
        let is_duration = line.to_ascii_lowercase().starts_with("duration:");
        seconds(line, is_duration)
    });
    let stopped_early = text.contains("hit stop tracing");
    Exposure { samples: None, seconds: stated, stopped_early }
}

/// Parses `Duration:   0 00:10:00 …` and `0 00:00:12   | …`: days, hours, minutes and seconds.
fn seconds(line: &str, is_duration: bool) -> Option<f64> {
    let line = if is_duration { line.split_once(':')?.1 } else { line };
    let mut words = line.split_ascii_whitespace();
    let days: u32 = words.next()?.parse().ok()?;
    let clock: Vec<u32> = words.next()?.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = clock[..] else { return None };
    let ends = words.next().is_none_or(|word| word == "|");
    ends.then(|| {
        f64::from(days) * 86400.0 + f64::from(hours) * 3600.0 + f64::from(minutes) * 60.0 + f64::from(seconds)
    })
}

/// The length in ns of the unit that a header names.
fn scale(header: &str) -> u64 {
    if header.contains("nanoseconds") || header.contains("(ns)") || header.contains("is in ns") {
        1
    } else {
        1000
    }
}

/// Returns true if there are no samples.
fn is_empty(samples: &Samples) -> bool {
    samples.counts.total() == 0 && samples.overflows == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_stop_of_a_report_are_read() {
        let of = |text: &str| exposure(text);
        assert_eq!(of("# Duration:   0 00:00:02\n").seconds, Some(2.0));
        assert_eq!(of("duration:   1 00:10:00 | time is in us\nCPU Period\n").seconds, Some(87_000.0));
        let top = of(
            "  0 00:00:12   |          IRQ Timer Latency (us)\n  1 #12322 |\nrtla timerlat hit stop tracing\n",
        );
        assert_eq!((top.seconds, top.stopped_early), (Some(12.0), true));
        assert_eq!(of("  1 #12322     |        0\n"), Exposure::default());
    }
}
