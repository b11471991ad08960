// SPDX-License-Identifier: GPL-2.0-only
//! An error as a value: the message of a verb that ended without a result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An error that ended a verb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The kind, which decides the exit status.
    pub kind: FailureKind,
    /// The message and the remedy, as on standard error.
    pub text: String,
    /// The file at fault, if it is known.
    pub file: Option<String>,
    /// The line in that file, from 1.
    pub line: Option<usize>,
}

/// The kind of an error. A check or comparison that failed has a result, and is an error only if there is nothing to
/// print of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// A check failed: exit status 1.
    Check,
    /// The input was wrong: exit status 2.
    Input,
    /// The environment was wrong, e.g. a privilege or disk space was missing: exit status 2.
    Environment,
    /// The input exceeded a limit: exit status 2.
    Limit,
}

impl FailureKind {
    /// The exit status that follows.
    pub fn status(self) -> u8 {
        match self {
            Self::Check => 1,
            Self::Input | Self::Environment | Self::Limit => 2,
        }
    }
}

impl Failure {
    /// An error that is not about a file.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), file: None, line: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}
