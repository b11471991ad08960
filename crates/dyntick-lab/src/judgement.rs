// SPDX-License-Identifier: GPL-2.0-only
//! The judgement of a study's runs: verdicts on its claims, its comparisons, and the effects of its axes.

use crate::compare::{Compared, compare_all};
use crate::effects::{self, Found};
use crate::lab::{CaseResult, Fault};
use crate::lookup::RunFigures;
use dyntick_study::Study;
use dyntick_study::claims::{self, Verdict};

/// The runs of a study, judged.
pub struct Judgement<'a> {
    /// The study.
    pub study: &'a Study,
    /// The runs, including those that failed.
    pub results: Vec<CaseResult>,
    /// The verdicts on its claims.
    pub verdicts: Vec<Verdict>,
    /// The comparisons (`[[compare]]`).
    pub comparisons: Vec<Compared>,
    /// The effects (`[[effects]]`).
    pub effects: Vec<Found>,
}

impl<'a> Judgement<'a> {
    /// Judges the runs.
    pub fn of(study: &'a Study, results: Vec<CaseResult>) -> Self {
        let verdicts = claims::judge(study, &RunFigures(&results));
        let comparisons = compare_all(study, &results);
        let effects = effects::all(study, &results);
        Self { study, results, verdicts, comparisons, effects }
    }

    /// Returns true if there is nothing to report: no case has a run, and no failure is a result.
    pub fn is_empty(&self) -> bool {
        let refused =
            |result: &CaseResult| result.run.as_ref().is_err_and(|error| error.fault() != Fault::Guest);
        self.results.iter().all(refused)
    }
}
