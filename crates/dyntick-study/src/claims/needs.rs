// SPDX-License-Identifier: GPL-2.0-only
//! The cases that a claim needs.

use super::Claim;
use crate::{Case, Study};

impl Claim {
    /// Returns true if the claim is open for a variant only because a case that it needs was not run: the study does
    /// not have it any more, or `was_run` returns false for it. A failed run counts as run.
    pub fn lacks_a_run(&self, study: &Study, variant: &str, was_run: &dyn Fn(&Case) -> bool) -> bool {
        let within = |case: &&Case| {
            case.labels().all(|label| variant.split('/').any(|own| own == label)) && self.speaks_of(case)
        };
        let lacks = |reference: &str| {
            study.select(reference).next().is_none()
                || study.select(reference).filter(within).any(|case| !was_run(case))
        };
        self.cannot_tell.is_none() && self.needed().any(lacks)
    }

    /// Returns true if these cases are enough to judge the claim: it has checks, and all cases that they name are
    /// there.
    pub fn is_judged_of(&self, study: &Study) -> bool {
        let is_there = |reference: &str| study.select(reference).next().is_some();
        self.cannot_tell.is_none() && !self.checks.is_empty() && self.needed().all(is_there)
    }

    /// The cases that its checks name.
    fn needed(&self) -> impl Iterator<Item = &str> {
        let against = self.checks.iter().filter_map(|check| check.against.as_ref()).map(|other| &other.case);
        self.checks.iter().map(|check| &check.case).chain(against).map(String::as_str)
    }
}
