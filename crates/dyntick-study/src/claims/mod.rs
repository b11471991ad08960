// SPDX-License-Identifier: GPL-2.0-only
//! Claims and the verdicts on them.

mod condition;
mod judge;
mod perturbed;
mod read;

pub use condition::{Condition, ConditionError, Relation};
pub use judge::{judge, known};
pub use read::references;
pub(super) use read::{case_reference, figure_reference, read, refuse_figure};

use super::{Case, Study};
use dyntick_model::digits::rounded;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A claim: reproduced for a variant if all its checks hold there.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Claim {
    /// The claim.
    pub text: String,
    /// The reason for which this laboratory cannot judge it at all.
    pub cannot_tell: Option<String>,
    /// The matrix labels (as kernels) that it speaks of; all where empty.
    pub only: Vec<String>,
    /// The checks that must all hold.
    pub checks: Vec<Check>,
    /// Figures that are shown as well, without being judged.
    pub evidence: Vec<Check>,
    /// An explanation of the answer, shown with the verdict.
    pub comment: Option<String>,
}

impl Claim {
    /// Returns true if the claim is about this case's variant.
    pub fn speaks_of(&self, case: &Case) -> bool {
        self.only.is_empty() || case.labels().any(|label| self.only.iter().any(|only| only == label))
    }

    /// Returns true if the claim is open for a variant only because a case that it needs was not run: the study does
    /// not have it any more, or `was_run` returns false for it. A failed run counts as run.
    pub fn lacks_a_run(&self, study: &Study, variant: &str, was_run: &dyn Fn(&Case) -> bool) -> bool {
        self.lacking(study, variant, was_run).is_some()
    }

    /// Returns true if these cases are enough to judge the claim: it has checks, and all cases that they name are
    /// there.
    pub fn is_judged_of(&self, study: &Study) -> bool {
        let is_there = |reference: &str| study.select(reference).next().is_some();
        self.cannot_tell.is_none() && !self.checks.is_empty() && self.needed().all(is_there)
    }

    /// The name of the first case for whose lack the claim is open for a variant, by the same rules.
    pub fn lacking(&self, study: &Study, variant: &str, was_run: &dyn Fn(&Case) -> bool) -> Option<String> {
        let within = |case: &&Case| {
            case.labels().all(|label| variant.split('/').any(|own| own == label)) && self.speaks_of(case)
        };
        let lacking = |reference: &str| {
            let missing = study.select(reference).filter(within).find(|case| !was_run(case));
            let named = || reference.split('/').next().unwrap_or(reference).to_owned();
            match missing {
                Some(case) => Some(case.name.clone()),
                None => study.select(reference).next().is_none().then(named),
            }
        };
        if self.cannot_tell.is_some() { None } else { self.needed().find_map(lacking) }
    }

    /// The cases that its checks name.
    fn needed(&self) -> impl Iterator<Item = &str> {
        let against = self.checks.iter().filter_map(|check| check.against.as_ref()).map(|other| &other.case);
        self.checks.iter().map(|check| &check.case).chain(against).map(String::as_str)
    }
}

/// One figure of one case, and what it must be.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    /// The case, as [`Case::answers_to`] reads it; each variant that answers is checked.
    pub case: String,
    /// Figure, or `figure:key`.
    pub figure: String,
    /// The CPU; all measured CPUs together if there is none.
    pub cpu: Option<u32>,
    /// Set it against the same figure of another case.
    pub against: Option<Against>,
    /// The condition; `None` for evidence.
    pub is: Option<Condition>,
}

/// Another case that a figure is set against.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Against {
    /// The case, as [`Case::answers_to`] reads it.
    pub case: String,
    /// The operation on its figure.
    pub how: How,
}

/// An operation on the other case's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// Divide by it: `ratio-to`.
    Ratio,
    /// Subtract it: `minus`.
    Difference,
}

impl How {
    /// The key of a study file that asks for it.
    pub fn key(self) -> &'static str {
        match self {
            How::Ratio => "ratio-to",
            How::Difference => "minus",
        }
    }

    fn of(self, value: f64, other: f64) -> f64 {
        match self {
            How::Ratio => value / other,
            How::Difference => value - other,
        }
    }
}

/// A source of figures.
pub trait Figures {
    /// The values of a figure in all runs of a case, by its id: on one CPU, or on the measured
    /// CPUs together. None where the case has no complete run or the figure was not measured; a
    /// count of something that never happened is 0.
    fn get(&self, case: &Case, figure: &str, cpu: Option<u32>) -> Option<Vec<f64>>;

    /// The reason for which there are no values.
    fn absence(&self, case: &Case, _figure: &str) -> String {
        format!("{} has no complete run with it", case.id)
    }

    /// The reason for which a figure of this case must not be relied on, if any.
    fn doubt(&self, case: &Case, figure: &str, cpu: Option<u32>) -> Option<String>;

    /// The figure in the perturbed runs of a case, by their numbers: none where the run failed, has no such figure, or
    /// one that must not be relied on. Empty where the case has no such runs.
    fn perturbed(&self, _case: &Case, _figure: &str, _cpu: Option<u32>) -> BTreeMap<u32, Option<f64>> {
        BTreeMap::new()
    }
}

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// Every check holds.
    Reproduced,
    /// Every check holds or does not, but one not in all perturbed runs: it hangs on what is irrelevant.
    Inconclusive,
    /// One does not.
    NotReproduced,
    /// A run is missing or failed, or it is a question that this laboratory cannot answer.
    CannotTell,
}

/// A claim with what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The claim.
    pub claim: Claim,
    /// The ruling for each variant (as each kernel), in the order of the study.
    pub rulings: Vec<(String, Ruling)>,
    /// The figures, one line each; for a claim that cannot be judged, the reason.
    pub evidence: Vec<String>,
    /// The figures that are not known, one line each with the reason; they are in the evidence too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The checks that do not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
    /// The agreement of the runs, if a judged case has perturbed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// The assumptions of the rulings: the source of the exit times of each emulated machine; empty if no judged case
    /// has one.
    pub rests_on: Vec<String>,
}

/// A check that does not hold in a case, with the value that was compared.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Failed {
    /// The id of the case.
    pub case: String,
    /// The check.
    pub check: Check,
    /// The value that was compared, the mean of the case's own runs; null if it is not defined, as relative to 0.
    pub value: Option<f64>,
    /// The number of those runs.
    pub runs: usize,
}

/// The number of runs that give the same answer: the case's own and the perturbed ones. Of several checks and variants,
/// those on which the fewest agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Agreement {
    /// The runs with the answer of the case's own run, itself included.
    pub agree: usize,
    /// All runs.
    pub runs: usize,
}

impl Agreement {
    /// The one of both in which the larger part disagrees.
    fn weaker(self, other: Self) -> Self {
        let dissent = |one: &Self| (one.runs - one.agree) * (self.runs * other.runs) / one.runs.max(1);
        if dissent(&other) > dissent(&self) { other } else { self }
    }
}

impl std::fmt::Display for Agreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} runs", self.agree, self.runs)
    }
}

impl Verdict {
    /// The assumptions of the rulings, in one line.
    pub fn assumption(&self) -> Option<String> {
        (!self.rests_on.is_empty()).then(|| format!("emulated: {}", self.rests_on.join("; ")))
    }
}

/// The significant digits of a figure in a report: in a claim's evidence, and in the tables next to it. JSON has all.
pub const DIGITS: i32 = 3;

/// A number with [`DIGITS`] significant digits.
pub fn number(value: f64) -> String {
    rounded(value, DIGITS)
}

#[cfg(test)]
impl Verdict {
    /// The rulings in one line, with what they rest on.
    fn summary(&self) -> String {
        let words = |ruling: Ruling| match ruling {
            Ruling::Reproduced => "reproduced",
            Ruling::NotReproduced => "not reproduced",
            Ruling::Inconclusive | Ruling::CannotTell => "inconclusive",
        };
        let first = self.rulings.first().map_or(Ruling::CannotTell, |(_, ruling)| *ruling);
        let each = self.rulings.iter().map(|(variant, ruling)| format!("{variant}: {}", words(*ruling)));
        let is_one = self.rulings.iter().all(|(_, ruling)| *ruling == first);
        let ruled = if is_one { words(first).to_owned() } else { each.collect::<Vec<_>>().join(", ") };
        self.assumption().map_or(ruled.clone(), |assumption| format!("{ruled} ({assumption})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_significant_digits() {
        assert_eq!(
            [0.0, 1.0, 0.998054, 123456.7, -4.76728, 2e-7, f64::NAN].map(|value| rounded(value, 4)),
            ["0", "1", "0.9981", "123457", "-4.767", "0.0000002", "–"]
        );
        assert_eq!(
            [-0.0, 250.0, 0.99271, 1.00004, 1234.567, 12.3, 0.000_001, 2e9].map(number),
            ["0", "250", "0.993", "1", "1235", "12.3", "0.000001", "2000000000"]
        );
    }
}
