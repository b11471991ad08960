// SPDX-License-Identifier: GPL-2.0-only
//! The output of `dyntick lab try`.

use dyntick_kernels::build::sizes::SizeChange;
use dyntick_lab::tried::{CaseEffect, is_fault};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// The effect of patches on kernels.
#[derive(Serialize, JsonSchema)]
pub struct Tried {
    /// The title: the cover letter's subject, or that of the first patch.
    pub title: String,
    /// The names of the patches, in the order in which they were applied.
    pub patches: Vec<String>,
    /// The sentences of the messages that state a figure. They are shown beside what was found, and not judged.
    pub stated: Vec<String>,
    /// The functions that the patches' hunks name.
    pub functions: BTreeSet<String>,
    /// The result on each kernel.
    pub bases: Vec<TriedOn>,
}

/// The effect of patches on one kernel.
#[derive(Serialize, JsonSchema)]
pub struct TriedOn {
    /// The kernel's source, as it was named.
    pub base: String,
    /// Its release; null if the patched kernel was not built.
    pub release: Option<String>,
    /// The outcome.
    pub outcome: Outcome,
    /// The hunks that fit only because lines of their surroundings may differ, with their files.
    pub fuzz: Vec<String>,
    /// The reason for which the patched kernel was not built; null if it was.
    pub not_built: Option<String>,
    /// The cases that failed.
    pub failures: Vec<TriedFailure>,
    /// The lines that only the patched kernel logs, each once, with numbers as `#`.
    pub new_lines: Vec<String>,
    /// The effects, case by case.
    pub cases: Vec<CaseEffect>,
    /// The functions whose size differs, bytes without padding; the largest change first.
    pub sizes: Vec<SizeChange>,
}

/// A case that failed on a kernel.
#[derive(Serialize, JsonSchema)]
pub struct TriedFailure {
    /// The case with the name of the kernel, `base` or `patched`.
    pub case: String,
    /// The reason.
    pub reason: String,
    /// The last lines of the guest's console.
    pub console: Vec<String>,
    /// True if it is the patched kernel.
    pub is_patched: bool,
}

/// The outcome of patches on a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A patch does not apply.
    DoesNotApply,
    /// The patched kernel does not build.
    DoesNotBuild,
    /// A guest with it failed: it did not boot, panicked, or hung.
    Fails,
    /// It logs warnings that the base does not.
    Warns,
    /// A figure differs by more than irrelevant changes make it.
    Changes,
    /// Figures differ, and none by more than irrelevant changes make it.
    NoEffectShown,
    /// All figures are equal.
    Identical,
    /// No case ran on both kernels.
    NotKnown,
}

impl Outcome {
    /// Returns true if the patch is at fault.
    pub fn is_fault(self) -> bool {
        matches!(self, Self::DoesNotApply | Self::DoesNotBuild | Self::Fails | Self::Warns)
    }
}

impl TriedOn {
    /// The lines of the log that report a fault.
    pub fn faults(&self) -> impl Iterator<Item = &str> {
        self.new_lines.iter().map(String::as_str).filter(|line| is_fault(line))
    }

    /// The outcome of runs.
    pub fn judged(&self) -> Outcome {
        let figures = || self.cases.iter().flat_map(|case| &case.figures);
        if self.failures.iter().any(|failure| failure.is_patched) {
            Outcome::Fails
        } else if self.faults().next().is_some() {
            Outcome::Warns
        } else if self.cases.is_empty() {
            Outcome::NotKnown
        } else if figures().any(|figure| figure.is_shown) {
            Outcome::Changes
        } else if figures().next().is_some() || self.cases.iter().any(|case| !case.entries.is_empty()) {
            Outcome::NoEffectShown
        } else {
            Outcome::Identical
        }
    }
}
