// SPDX-License-Identifier: GPL-2.0-only
//! Why what a tool printed could not be read.

use crate::text::shortened;

/// Why what a tool printed could not be read. The file is the caller's to name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Too long.
    #[error("it has {size} {unit}; at most {limit} of a tool's output are read")]
    Long {
        /// How long it is.
        size: usize,
        /// Of what.
        unit: &'static str,
        /// The most.
        limit: usize,
    },
    /// Not UTF-8.
    #[error("byte {offset} is not valid UTF-8: this is not the text or JSON output of a tool")]
    NotText {
        /// The first such byte, from 0.
        offset: usize,
    },
    /// Nobody's.
    #[error("this is not the output of a supported tool ({}), or not in a supported format", tools.join(", "))]
    Unknown {
        /// Whose output is read.
        tools: Vec<&'static str>,
    },
    /// A form that is not read.
    #[error("this is {tool}'s human-readable output, which is not read; {fix}")]
    ForPeople {
        /// Whose.
        tool: &'static str,
        /// How the other form is asked for.
        fix: &'static str,
    },
    /// A line that is not understood.
    #[error("line {line}: '{text}' is not valid {tool} output")]
    Line {
        /// Whose output it would be.
        tool: &'static str,
        /// Its number, from 1.
        line: usize,
        /// What stands there, shortened.
        text: String,
    },
    /// JSON that is none, or lacks what is needed.
    #[error("{tool}'s JSON: {message}")]
    Json {
        /// Whose.
        tool: &'static str,
        /// What is wrong, with line and column.
        message: String,
    },
    /// The tool says itself that it failed.
    #[error("{tool} failed: {what}. Its figures are not used")]
    Failed {
        /// Which.
        tool: &'static str,
        /// What it says.
        what: String,
    },
    /// A name or a value that cannot stand.
    #[error("{tool}: '{name}' {why}")]
    Name {
        /// Whose.
        tool: &'static str,
        /// The name, shortened.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Too much.
    #[error(
        "{tool} has more than {limit} metrics here: have it report less (fio --group_reporting, perf stat without -A)"
    )]
    Many {
        /// Whose.
        tool: &'static str,
        /// The most.
        limit: usize,
    },
    /// No figure.
    #[error("this is {tool}'s output, but it contains no figures: did {tool} run to completion?")]
    Nothing {
        /// Whose.
        tool: &'static str,
    },
    /// cyclictest's text.
    #[error(transparent)]
    Cyclictest(#[from] CyclictestError),
    /// qperf's text.
    #[error(transparent)]
    Qperf(#[from] QperfError),
}

impl Error {
    /// A line, by its number from 0.
    pub(crate) fn line(tool: &'static str, index: usize, text: &str) -> Self {
        Self::Line { tool, line: index + 1, text: shortened(text) }
    }

    /// JSON that is not as it should be.
    pub(crate) fn json(tool: &'static str, message: impl std::fmt::Display) -> Self {
        Self::Json { tool, message: shortened(&message.to_string()) }
    }
}

/// A line that is not qperf's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QperfError {
    /// A line that is not understood.
    #[error("line {line}: '{text}' is not valid qperf output")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
}

/// A text that is not cyclictest's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CyclictestError {
    /// No status line.
    #[error("no line 'T: 0 …': this is not the output of cyclictest, or it was killed before it printed any")]
    NoThread,
    /// A line that is not understood.
    #[error("line {line}: '{text}' is not valid cyclictest output")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
}
