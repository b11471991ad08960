// SPDX-License-Identifier: GPL-2.0-only
//! The errors of readers.

use crate::text::shortened;

/// The reason why a tool's output could not be read. The caller names the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The output is too long.
    #[error("it has {size} {unit}; at most {limit} of a tool's output are read")]
    Long {
        /// The length of the output.
        size: usize,
        /// The unit of the length.
        unit: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The output is not UTF-8.
    #[error("byte {offset} is not valid UTF-8: this is not the text or JSON output of a tool")]
    NotText {
        /// The offset of the first invalid byte, from 0.
        offset: usize,
    },
    /// The output belongs to no known tool.
    #[error(
        "this is not the output of a supported tool ({}), or not in a supported format. Name the figure of any other \
         program with --pattern or --path of compare, or in a study",
        tools.join(", ")
    )]
    Unknown {
        /// The supported tools.
        tools: Vec<&'static str>,
    },
    /// The output is a file of bytes.
    #[error("this is {what}")]
    Binary {
        /// The kind of the file, and the remedy.
        what: &'static str,
    },
    /// The output is in an unsupported form.
    #[error("this is {tool}'s output in a form that is not read; {fix}")]
    Unread {
        /// The tool's name.
        tool: &'static str,
        /// The option for a supported form.
        fix: &'static str,
    },
    /// A line was not understood.
    #[error("line {line}: '{text}' is not valid {tool} output")]
    Line {
        /// The name of the expected tool.
        tool: &'static str,
        /// The line's number, from 1.
        line: usize,
        /// The line, shortened.
        text: String,
    },
    /// The JSON is invalid, or lacks required keys.
    #[error("{tool}'s JSON: {message}")]
    Json {
        /// The tool's name.
        tool: &'static str,
        /// The fault, with line and column.
        message: String,
    },
    /// The tool itself reports that it failed.
    #[error("{tool} failed: {what}. Its figures are not used")]
    Failed {
        /// The tool's name.
        tool: &'static str,
        /// The failure that the tool reports.
        what: String,
    },
    /// A name or a value is invalid.
    #[error("{tool}: '{name}' {why}")]
    Name {
        /// The tool's name.
        tool: &'static str,
        /// The name, shortened.
        name: String,
        /// The fault.
        why: &'static str,
    },
    /// The output has too many metrics.
    #[error("{tool} has more than {limit} metrics here; {fix}")]
    Many {
        /// The tool's name.
        tool: &'static str,
        /// The limit.
        limit: usize,
        /// The option for fewer.
        fix: &'static str,
    },
    /// The output has no figures.
    #[error("this is {tool}'s output, but it contains no figures: did {tool} run to completion?")]
    Nothing {
        /// The tool's name.
        tool: &'static str,
    },
    /// An error in cyclictest's text.
    #[error(transparent)]
    Cyclictest(#[from] CyclictestError),
    /// An error in qperf's text.
    #[error(transparent)]
    Qperf(#[from] QperfError),
}

impl Error {
    /// Makes the error for a line, given by its number from 0.
    pub(crate) fn line(tool: &'static str, index: usize, text: &str) -> Self {
        Self::Line { tool, line: index + 1, text: shortened(text) }
    }

    /// Makes the error for invalid JSON.
    pub(crate) fn json(tool: &'static str, message: impl std::fmt::Display) -> Self {
        Self::Json { tool, message: shortened(&message.to_string()) }
    }
}

/// An error in qperf's output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QperfError {
    /// A line was not understood.
    #[error("line {line}: '{text}' is not valid qperf output")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The line.
        text: String,
    },
}

/// An error in cyclictest's output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CyclictestError {
    /// There is no status line.
    #[error("no line 'T: 0 …': this is not the output of cyclictest, or it was killed before it printed any")]
    NoThread,
    /// The foot of a histogram is missing.
    #[error(
        "the histogram ends before '# Max Latencies': cyclictest was killed, or the file is cut off. Run it to its end"
    )]
    CutOff,
    /// A line was not understood.
    #[error("line {line}: '{text}' is not valid cyclictest output")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The line.
        text: String,
    },
}
