// SPDX-License-Identifier: GPL-2.0-only
//! Verdicts as users read them: a claim that only lacks a run is *not run*.

use super::titles::Titled;
use dyntick_lab::lab::{CaseResult, LabError};
use dyntick_report::{Ruling, Verdict};
use dyntick_study::{Case, Study, claims};
use std::collections::{BTreeMap, BTreeSet};

/// The cases of a study as the report of a claim names them.
pub struct Cases<'a> {
    ran: &'a Ran<'a>,
    /// The titles of the cases that have a run, by id.
    titles: BTreeMap<&'a str, &'a str>,
}

impl<'a> Cases<'a> {
    /// Names the cases by the titles of their runs.
    pub fn of(ran: &'a Ran<'a>, runs: &'a [Titled<'_>]) -> Self {
        let titles = runs.iter().map(|run| (run.run().plan.case.id.as_str(), run.title_of_all()));
        Self { ran, titles: titles.collect() }
    }

    /// A verdict for the report.
    pub fn verdict(&self, verdict: &claims::Verdict) -> Verdict {
        Verdict {
            claim: verdict.claim.text.clone(),
            published: self.ran.study.published.is_some(),
            agreement: verdict.agreement.map(|agreement| agreement.to_string()).unwrap_or_default(),
            rulings: self.ran.rulings(verdict),
            rests_on: verdict.assumption().unwrap_or_default(),
            evidence: verdict.evidence.iter().map(|line| self.named(line)).collect(),
            comment: verdict.claim.comment.clone().unwrap_or_default(),
        }
    }

    /// A line of evidence with the case's name in place of its id.
    fn named(&self, line: &str) -> String {
        let found = line.split_once(": ").and_then(|(id, rest)| Some((self.titles.get(id)?, rest)));
        // An id may have a colon and a space nowhere, but that of a kernel has a colon.
        found.map_or_else(|| line.to_owned(), |(title, rest)| format!("{title}: {rest}"))
    }
}

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
    fn rulings(&self, verdict: &claims::Verdict) -> Vec<(String, Ruling)> {
        let mut rulings = Vec::new();
        for (variant, ruling) in &verdict.rulings {
            rulings.push((variant.clone(), self.ruling(verdict, variant, *ruling)));
        }
        rulings
    }

    fn ruling(&self, verdict: &claims::Verdict, variant: &str, ruling: claims::Ruling) -> Ruling {
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
    pub fn open(&self, verdicts: &[claims::Verdict]) -> Vec<Ruling> {
        let judged = verdicts.iter().filter(|verdict| verdict.claim.cannot_tell.is_none());
        let rulings = judged.flat_map(|verdict| self.rulings(verdict)).map(|(_, ruling)| ruling);
        rulings.filter(|ruling| *ruling != Ruling::Reproduced).collect()
    }
}
