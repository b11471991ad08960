// SPDX-License-Identifier: GPL-2.0-only
//! Verdicts as a report has them.

use super::titles::Titled;
use crate::verbs::lab::rulings::Ran;
use dyntick_report::Verdict;
use dyntick_study::claims;
use std::collections::BTreeMap;

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
