// SPDX-License-Identifier: GPL-2.0-only
//! The rulings on claims as users read them: a claim that only lacks a run is *not run*.

use dyntick_lab::lab::{CaseResult, LabError};
use dyntick_report::Ruling;
use dyntick_study::claims::{self, Verdict};
use dyntick_study::{Case, Study};
use std::collections::BTreeSet;

/// The cases of a study, and which of them have been run.
pub struct Ran<'a> {
    study: &'a Study,
    not_run: BTreeSet<&'a str>,
}

impl<'a> Ran<'a> {
    /// Finds the cases of a study that have no result, or only [`LabError::NotRun`].
    pub fn of(study: &'a Study, results: &'a [CaseResult]) -> Self {
        let ran = results.iter().filter(|result| !matches!(result.run, Err(LabError::NotRun)));
        let ran: BTreeSet<&str> = ran.map(|result| result.case.id.as_str()).collect();
        let ids = study.cases.iter().map(|case| case.id.as_str());
        Self { study, not_run: ids.filter(|id| !ran.contains(id)).collect() }
    }

    /// The ids of the cases that have not been run, in the order of the study.
    pub fn not_run(&self) -> Vec<&'a str> {
        self.study.cases.iter().map(|case| case.id.as_str()).filter(|id| self.not_run.contains(id)).collect()
    }

    fn has(&self, case: &Case) -> bool {
        !self.not_run.contains(case.id.as_str())
    }

    /// The rulings on a claim by variant.
    pub fn rulings(&self, verdict: &Verdict) -> Vec<(String, Ruling)> {
        let mut rulings = Vec::new();
        for (variant, ruling) in &verdict.rulings {
            rulings.push((variant.clone(), self.ruling(verdict, variant, *ruling)));
        }
        rulings
    }

    fn ruling(&self, verdict: &Verdict, variant: &str, ruling: claims::Ruling) -> Ruling {
        match ruling {
            claims::Ruling::Reproduced => Ruling::Reproduced,
            claims::Ruling::Inconclusive => Ruling::Inconclusive,
            claims::Ruling::NotReproduced => Ruling::NotReproduced,
            claims::Ruling::CannotTell
                if verdict.claim.lacks_a_run(self.study, variant, &|case| self.has(case)) =>
            {
                Ruling::NotRun
            }
            claims::Ruling::CannotTell => Ruling::CannotTell,
        }
    }

    /// The rulings other than *reproduced*, of all claims that this laboratory can judge.
    pub fn open(&self, verdicts: &[Verdict]) -> Vec<Ruling> {
        let judged = verdicts.iter().filter(|verdict| verdict.claim.cannot_tell.is_none());
        let rulings = judged.flat_map(|verdict| self.rulings(verdict)).map(|(_, ruling)| ruling);
        rulings.filter(|ruling| *ruling != Ruling::Reproduced).collect()
    }
}
