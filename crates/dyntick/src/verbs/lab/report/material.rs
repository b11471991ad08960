// SPDX-License-Identifier: GPL-2.0-only
//! All that a short report is made of.

use super::titles::{Titled, Titles};
use dyntick_lab::compare::Compared;
use dyntick_lab::effects::Found;
use dyntick_lab::lab::CaseResult;
use dyntick_report::Verdict;
use dyntick_study::Study;

/// The parts of the short report.
pub struct Material<'a> {
    /// The study.
    pub study: &'a Study,
    /// The names of its cases.
    pub titles: &'a Titles,
    /// All results, including those of cases without a run.
    pub results: &'a [CaseResult],
    /// The verdicts on the claims.
    pub verdicts: &'a [Verdict],
    /// The runs that are no perturbed ones.
    pub runs: &'a [Titled<'a>],
    /// The number of perturbed ones.
    pub perturbed: usize,
    /// The effects of the axes of matrices.
    pub effects: &'a [Found],
    /// The pairs of cases that are compared.
    pub comparisons: &'a [Compared],
    /// The ids of the cases that were not run.
    pub not_run: &'a [&'a str],
    /// That runs are from elsewhere.
    pub of_others: Option<String>,
}
