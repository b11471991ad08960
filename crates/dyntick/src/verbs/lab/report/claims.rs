// SPDX-License-Identifier: GPL-2.0-only
//! Verdicts as a report has them.

use super::titles::Titled;
use dyntick_lab::lab::{CaseResult, LabError};
use dyntick_report::{Ruling, Verdict};
use dyntick_study::Study;
use dyntick_study::claims::{self, Claim};
use std::collections::{BTreeMap, BTreeSet};

/// What the report of a claim needs to know of the cases.
pub struct Cases<'a> {
    study: &'a Study,
    /// Those of which no run is there, by their ids.
    not_run: BTreeSet<&'a str>,
    /// The names of the others.
    titles: BTreeMap<&'a str, &'a str>,
}

impl<'a> Cases<'a> {
    /// Of a study with its runs.
    pub fn of(study: &'a Study, results: &'a [CaseResult], runs: &'a [Titled<'_>]) -> Self {
        let ran = results.iter().filter(|result| !matches!(result.run, Err(LabError::NotRun)));
        let ran: BTreeSet<&str> = ran.map(|result| result.case.id.as_str()).collect();
        let ids = study.cases.iter().map(|case| case.id.as_str());
        let titles = runs.iter().map(|run| (run.run().asked.case.id.as_str(), run.title_of_all()));
        Self { study, not_run: ids.filter(|id| !ran.contains(id)).collect(), titles: titles.collect() }
    }

    /// The ids of the cases that were not run.
    pub fn not_run(&self) -> Vec<&'a str> {
        self.study.cases.iter().map(|case| case.id.as_str()).filter(|id| self.not_run.contains(id)).collect()
    }

    /// A verdict for the report.
    pub fn verdict(&self, verdict: &claims::Verdict) -> Verdict {
        let ruling = |variant: &str, ruling: claims::Ruling| match ruling {
            claims::Ruling::Reproduced => Ruling::Reproduced,
            claims::Ruling::Inconclusive => Ruling::Inconclusive,
            claims::Ruling::NotReproduced => Ruling::NotReproduced,
            claims::Ruling::CannotTell if self.lacks_a_run(&verdict.claim, variant) => Ruling::NotRun,
            claims::Ruling::CannotTell => Ruling::CannotTell,
        };
        let of = |(variant, one): &(String, claims::Ruling)| (variant.clone(), ruling(variant, *one));
        Verdict {
            claim: verdict.claim.text.clone(),
            rulings: verdict.rulings.iter().map(of).collect(),
            rests_on: verdict.assumption().unwrap_or_default(),
            evidence: verdict.evidence.iter().map(|line| self.named(line)).collect(),
            comment: verdict.claim.comment.clone().unwrap_or_default(),
        }
    }

    /// Whether a claim is open only because a case that it needs was not run; `lab run --case` leaves others out.
    fn lacks_a_run(&self, claim: &Claim, variant: &str) -> bool {
        claim.lacks_a_run(self.study, variant, &|case| !self.not_run.contains(case.id.as_str()))
    }

    /// A line of evidence with the case's name in place of its id.
    fn named(&self, line: &str) -> String {
        let found = line.split_once(": ").and_then(|(id, rest)| Some((self.titles.get(id)?, rest)));
        // An id may have a colon and a space nowhere, but that of a kernel has a colon.
        found.map_or_else(|| line.to_owned(), |(title, rest)| format!("{title}: {rest}"))
    }
}
