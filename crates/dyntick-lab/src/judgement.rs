// SPDX-License-Identifier: GPL-2.0-only
//! The judgement of a study's runs: verdicts on its claims, its comparisons, and the effects of its axes.

use crate::compare::{Compared, compare_all};
use crate::effects::{self, Found};
use crate::lab::CaseResult;
use crate::lookup::RunFigures;
use dyntick_study::Study;
use dyntick_study::claims::{self, Verdict};

/// The runs of a study, judged.
pub struct Judgement<'a> {
    /// The study.
    pub study: &'a Study,
    /// The runs, including those that failed.
    pub results: &'a [CaseResult],
    /// The verdicts on its claims.
    pub verdicts: Vec<Verdict>,
    /// The comparisons (`[[compare]]`).
    pub comparisons: Vec<Compared>,
    /// The effects (`[[effects]]`).
    pub effects: Vec<Found>,
}

impl<'a> Judgement<'a> {
    /// Judges the runs.
    pub fn of(study: &'a Study, results: &'a [CaseResult]) -> Self {
        let verdicts = claims::judge(study, &RunFigures(results));
        let comparisons = compare_all(study, results);
        let effects = effects::all(study, results);
        Self { study, results, verdicts, comparisons, effects }
    }
}
