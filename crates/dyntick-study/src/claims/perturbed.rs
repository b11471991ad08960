// SPDX-License-Identifier: GPL-2.0-only
//! The answer to a check in the perturbed runs of its case, next to that of the case's own run.

use super::read::references;
use super::{Agreement, Check, Condition, Figures, number};
use crate::{Case, Study};
use dyntick_stats::Summary;
use std::collections::BTreeSet;

/// The figure of a check in each perturbed run; none where it is not known, and no finite number where it is
/// not defined.
pub struct Perturbed(Vec<Option<f64>>);

impl Perturbed {
    /// Evaluates a check in the perturbed runs of a case. A check against another case uses the runs of the same
    /// number, which have the same change. If one of both has no such run, its own run is used instead.
    pub fn of(study: &Study, check: &Check, case: &Case, figures: &dyn Figures) -> Self {
        let of = |case: &Case| figures.perturbed(case, &check.figure, check.cpu);
        let own = |case: &Case| {
            let values = figures.get(case, &check.figure, check.cpu)?;
            Summary::of(&values).map(|summary| summary.mean)
        };
        let values = of(case);
        let Some(against) = &check.against else {
            return Self(values.into_values().collect());
        };
        let [other] = references(case, &against.case, &study.cases)[..] else {
            return Self(Vec::new());
        };
        let others = of(other);
        let (own_value, own_other) = (own(case), own(other));
        let relative = |run: &u32| {
            let value = values.get(run).copied().unwrap_or(own_value);
            let other = others.get(run).copied().unwrap_or(own_other);
            Some(against.how.of(value?, other?))
        };
        let runs: BTreeSet<&u32> = values.keys().chain(others.keys()).collect();
        Self(runs.into_iter().map(relative).collect())
    }

    /// The spread, to be said after the figure; empty where there are no such runs.
    pub fn spread(&self) -> String {
        let known: Vec<f64> = self.0.iter().copied().flatten().filter(|value| value.is_finite()).collect();
        match Summary::of(&known) {
            None => String::new(),
            Some(Summary { count, min, median, max, .. }) => {
                let (min, median, max) = (number(min), number(median), number(max));
                let runs = if count == 1 { "run" } else { "runs" };
                format!(" ({count} perturbed {runs}: from {min} to {max}, median {median})")
            }
        }
    }

    /// The number of runs with the same answer as the case's own; none if no run is perturbed.
    pub fn agreement(&self, condition: Condition, holds: bool) -> Option<Agreement> {
        let says = |value: f64| value.is_finite() && condition.holds(value);
        let agree = 1 + self.0.iter().flatten().filter(|value| says(**value) == holds).count();
        (!self.0.is_empty()).then(|| Agreement { agree, runs: 1 + self.0.len() })
    }

    /// The reason for which the condition is inconclusive, if any: it holds in some runs, and not in others.
    pub fn dissent(&self, condition: Condition, holds: bool) -> Option<String> {
        let all = self.0.len();
        let unknown = self.0.iter().filter(|value| value.is_none()).count();
        // As of the case's own run: no condition holds for what is not defined.
        let says = |value: f64| value.is_finite() && condition.holds(value);
        let otherwise = self.0.iter().flatten().filter(|value| says(**value) != holds).count();
        match (otherwise, unknown) {
            (0, 0) => None,
            (0, unknown) => Some(format!("{unknown} of {all} perturbed runs have no value")),
            (otherwise, _) => Some(format!("{otherwise} of {all} perturbed runs say otherwise")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::judge;
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// A case's own figure, and those of its perturbed runs.
    struct Runs(Vec<(&'static str, f64, Vec<Option<f64>>)>);

    impl Figures for Runs {
        fn get(&self, case: &Case, _figure: &str, _cpu: Option<u32>) -> Option<Vec<f64>> {
            self.0.iter().find(|(id, ..)| *id == case.id).map(|(_, value, _)| vec![*value])
        }

        fn doubt(&self, _case: &Case, _figure: &str, _cpu: Option<u32>) -> Option<String> {
            None
        }

        fn perturbed(&self, case: &Case, _figure: &str, _cpu: Option<u32>) -> BTreeMap<u32, Option<f64>> {
            let of_case = self.0.iter().find(|(id, ..)| *id == case.id);
            (1..).zip(of_case.into_iter().flat_map(|(.., perturbed)| perturbed.clone())).collect()
        }
    }

    /// The ruling and its one line of evidence.
    fn ruled(check: &str, runs: &[(&'static str, f64, &[Option<f64>])]) -> (String, String) {
        let text = format!(
            "title='t'\nquestion='q'\n[defaults]\nkernel='host'\n[[case]]\nname='a'\n[[case]]\nname='b'\n\
             [[claim]]\ntext='c'\ncheck=[{{case='a',figure='ticks',{check}}}]\n"
        );
        let study = Study::parse(Path::new("s.toml"), &text).unwrap_or_else(|problems| panic!("{problems}"));
        let runs = Runs(runs.iter().map(|(id, own, perturbed)| (*id, *own, perturbed.to_vec())).collect());
        let verdict = judge(&study, &runs).remove(0);
        (verdict.summary(), verdict.evidence.concat())
    }

    #[test]
    fn a_verdict_that_an_irrelevant_change_turns_is_none() {
        let (ruling, line) = ruled("is='<= 2'", &[("a", 1.0, &[Some(2.0), Some(1.0), Some(5.0)])]);
        assert_eq!(ruling, "inconclusive");
        assert_eq!(
            line,
            "a: ticks = 1 (3 perturbed runs: from 1 to 5, median 2), wanted <= 2: inconclusive, 1 of 3 perturbed \
             runs say otherwise"
        );
        let (ruling, line) = ruled("is='<= 2'", &[("a", 3.0, &[Some(4.0), Some(2.0)])]);
        assert_eq!(
            (ruling.as_str(), line.ends_with("1 of 2 perturbed runs say otherwise")),
            ("inconclusive", true)
        );
    }

    #[test]
    fn spread_is_shown_if_all_runs_agree() {
        let (ruling, line) = ruled("is='<= 2'", &[("a", 1.0, &[Some(2.0), Some(0.5)])]);
        assert_eq!(ruling, "reproduced");
        assert_eq!(line, "a: ticks = 1 (2 perturbed runs: from 0.5 to 2, median 1.25), wanted <= 2: yes");
        let (ruling, line) = ruled("is='<= 2'", &[("a", 4.0, &[Some(3.0)])]);
        assert_eq!(ruling, "not reproduced");
        assert_eq!(line, "a: ticks = 4 (1 perturbed run: from 3 to 3, median 3), wanted <= 2: no");
        let (ruling, line) = ruled("is='<= 2'", &[("a", 1.0, &[])]);
        assert_eq!((ruling.as_str(), line.as_str()), ("reproduced", "a: ticks = 1, wanted <= 2: yes"));
    }

    #[test]
    fn a_perturbed_run_that_failed_leaves_it_open() {
        let (ruling, line) = ruled("is='<= 2'", &[("a", 1.0, &[Some(2.0), None])]);
        assert_eq!(ruling, "inconclusive");
        assert!(line.ends_with("inconclusive, 1 of 2 perturbed runs have no value"), "{line}");
    }

    #[test]
    fn both_sides_are_changed_alike() {
        // Each falls by half, whatever the change does to both.
        let own: [Option<f64>; 2] = [Some(40.0), Some(20.0)];
        let other: [Option<f64>; 2] = [Some(80.0), Some(40.0)];
        let check = "'ratio-to'='b',is='<= 0.5'";
        assert_eq!(ruled(check, &[("a", 10.0, &own), ("b", 20.0, &other)]).0, "reproduced");
        // If the other side has no perturbed runs, its own run is used for all.
        let (ruling, line) = ruled(check, &[("a", 10.0, &own), ("b", 20.0, &[])]);
        assert_eq!(ruling, "inconclusive");
        assert!(
            line.contains("from 1 to 2") && line.ends_with("2 of 2 perturbed runs say otherwise"),
            "{line}"
        );
        let (ruling, line) = ruled(check, &[("a", 10.0, &[]), ("b", 20.0, &[Some(20.0), Some(10.0)])]);
        assert_eq!(ruling, "inconclusive");
        assert!(
            line.contains("from 0.5 to 1") && line.ends_with("1 of 2 perturbed runs say otherwise"),
            "{line}"
        );
        // A ratio to nothing is not defined, and does not hold.
        let (ruling, line) = ruled(check, &[("a", 10.0, &own), ("b", 20.0, &[Some(0.0), Some(40.0)])]);
        assert_eq!(ruling, "inconclusive");
        assert!(line.ends_with("1 of 2 perturbed runs say otherwise"), "{line}");
    }
}
