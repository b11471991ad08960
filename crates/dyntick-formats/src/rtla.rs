// SPDX-License-Identifier: GPL-2.0-only
//! The output of rtla (Linux 6.1 to 7.2, `tools/tracing/rtla/src`): the histograms and the tables of `timerlat` and
//! `osnoise`. Their columns depend on version and options, so the header decides.

mod hist;
mod top;

use crate::Error;
use crate::metrics::Collector;
use dyntick_stats::Samples;

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
    match parse(text)? {
        Report::Hist(columns) => columns.iter().try_for_each(|column| column.put(into)),
        Report::Top(rows) => rows.iter().try_for_each(|row| row.put(into)),
    }
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
