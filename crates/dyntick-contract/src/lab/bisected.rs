// SPDX-License-Identifier: GPL-2.0-only
//! The output of `dyntick lab bisect`, and its state between two calls.

use dyntick_lab::tried::CaseEffect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The commit that changed a figure.
#[derive(Serialize, JsonSchema)]
pub struct Bisected {
    /// The condition on a figure that holds before it.
    pub condition: String,
    /// The first commit at which it does not hold; null if commits between could not be tested.
    pub first_bad: Option<TestedCommit>,
    /// The commits of which one is the first, if some could not be tested.
    pub candidates: Vec<String>,
    /// The commit before it, with the figure there; null if it was not tested.
    pub before: Option<TestedCommit>,
    /// The figures and functions that the commit changed, in the case.
    pub changes: Vec<CaseEffect>,
    /// All tested commits, in the order in which they were tested.
    pub tested: Vec<TestedCommit>,
}

/// A tested commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestedCommit {
    /// The hash.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The figure; null if it was not measured.
    pub value: Option<f64>,
    /// The reason for which it was not.
    pub reason: Option<String>,
}

/// The verdict on a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The condition holds.
    Good,
    /// It does not.
    Bad,
    /// The kernel does not build or does not boot, or has no such figure.
    Skipped,
}
