// SPDX-License-Identifier: GPL-2.0-only
//! One figure of two sides, compared.

use super::flags::{self, Flag};
use super::verdict::{self, Change, Evidence, Verdict};
use crate::distribution::{Grouped, Point, between};
use crate::interval::{Bounds, Estimate, NoInterval};
use crate::power::Precision;
use crate::shift::{Test, mann_whitney, shift};
use crate::superiority::{Superiority, superiority};
use crate::{Better, Summary, median};
use dyntick_model::Clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sample of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Runs.
    Runs,
    /// Samples within one run of a side, as if they did not depend on one another.
    Samples,
    /// No sample: the runs of each side are equal, in virtual time.
    Exact,
}

/// One figure of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideFigure {
    /// The number of its runs.
    pub runs: usize,
    /// The median of the runs, or the figure of the one run.
    pub value: Estimate,
    /// More of the runs, where they are the sample.
    pub summary: Option<Summary>,
}

/// One figure of two sides, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The sample.
    pub basis: Basis,
    /// The first side, and the one that is compared with it.
    pub sides: [SideFigure; 2],
    /// The excess of the side over the first: Hodges-Lehmann for runs, the difference for samples.
    pub shift: Estimate,
    /// The same in percent of the first side's value; none where that is zero.
    pub percent: Option<f64>,
    /// The probability that a run of the side is larger than one of the first; only if runs are the sample.
    pub superiority: Option<Superiority>,
    /// The test for a difference, not adjusted.
    pub test: Option<Test>,
    /// The p value adjusted for all others of the comparison.
    pub adjusted_p: Option<f64>,
    /// The smallest shift that this number of runs shows with a probability of 80 %, with this number of figures
    /// compared. `None` if the runs are too few to show any shift.
    pub could_show: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The doubts about it.
    pub flags: Vec<Flag>,
    #[serde(skip)]
    precision: Option<Precision>,
}

impl Figure {
    /// Compares one value of each run; `None` if a side has no finite value.
    pub(super) fn of_runs(a: &[f64], b: &[f64], clock: Clock) -> Option<Self> {
        let expected =
            [a, b].map(|side| side.iter().copied().filter(|value| usable(*value)).collect::<Vec<f64>>());
        let equal = |side: &Vec<f64>| side.windows(2).all(|pair| pair[0] == pair[1]);
        let mut figure = if clock == Clock::Virtual && expected.iter().all(equal) {
            Self::exact(*expected[0].first()?, *expected[1].first()?, [expected[0].len(), expected[1].len()])
        } else {
            Self::of_sample(&expected[0], &expected[1])?
        };
        let left_out = [a.len() - expected[0].len(), b.len() - expected[1].len()];
        let flags = (0..2)
            .filter(|side| left_out[*side] > 0)
            .map(|side| Flag::NotNumbers { side, count: left_out[side] });
        figure.flags.extend(flags);
        Some(figure)
    }

    fn of_sample(a: &[f64], b: &[f64]) -> Option<Self> {
        let shift = shift(a, b)?;
        let side = |runs: &[f64]| {
            Some(SideFigure { runs: runs.len(), value: median(runs)?, summary: Summary::of(runs) })
        };
        let mut figure = Self::new(Basis::Runs, [side(a)?, side(b)?], shift);
        figure.superiority = superiority(a, b);
        figure.test = mann_whitney(a, b);
        figure.precision = Precision::of(a, b, &shift.bounds);
        figure.flags = flags::of_runs([a, b]);
        Some(figure)
    }

    /// Compares a point of distributions: the runs if both sides have several, otherwise the samples. `None` if a run
    /// has no such point.
    pub(super) fn of_point(point: Point, runs: [&[Grouped]; 2], clock: Clock) -> Option<Self> {
        if runs.iter().all(|runs| runs.len() > 1) {
            let values =
                |runs: &[Grouped]| runs.iter().map(|run| run.value(point)).collect::<Option<Vec<f64>>>();
            return Self::of_runs(&values(runs[0])?, &values(runs[1])?, clock);
        }
        // The side that has several is known by its runs.
        let estimate = |runs: &[Grouped]| match runs {
            [run] => run.estimate(point),
            many => {
                let values: Option<Vec<f64>> = many.iter().map(|run| run.value(point)).collect();
                median(&values?)
            }
        };
        let [a, b] = [estimate(runs[0])?, estimate(runs[1])?];
        let shift = between(&a, &b);
        let side = |runs: &[Grouped], value| SideFigure { runs: runs.len(), value, summary: None };
        let mut figure = Self::new(Basis::Samples, [side(runs[0], a), side(runs[1], b)], shift);
        figure.test = shift.test();
        figure.flags.push(Flag::OneRun);
        Some(figure)
    }

    /// Compares runs that are equal on each side, in virtual time.
    pub(super) fn exact(a: f64, b: f64, runs: [usize; 2]) -> Self {
        let exact = |value| Estimate { value, bounds: Bounds::None(NoInterval::Exact) };
        let side = |runs, value| SideFigure { runs, value: exact(value), summary: None };
        Self::new(Basis::Exact, [side(runs[0], a), side(runs[1], b)], exact(b - a))
    }

    fn new(basis: Basis, sides: [SideFigure; 2], shift: Estimate) -> Self {
        let base = sides[0].value.value.abs();
        Self {
            basis,
            sides,
            shift,
            percent: (base > 0.0).then(|| shift.value / base * 100.0),
            superiority: None,
            test: None,
            adjusted_p: None,
            could_show: None,
            verdict: Verdict::Inconclusive { more_runs: None },
            flags: Vec::new(),
            precision: None,
        }
    }

    /// Gives the verdict, for this number of compared figures.
    pub(super) fn judge(&mut self, better: Better, same_within: f64, tests: usize) {
        if self.basis == Basis::Exact {
            let difference = self.shift.value;
            self.verdict = Verdict::TheChange { difference, change: Change::of(difference, better) };
            return;
        }
        let evidence = Evidence {
            shift: self.shift,
            margin: self.sides[0].value.value.abs() * same_within / 100.0,
            percent: same_within,
            adjusted_p: self.adjusted_p,
            each: verdict::ALPHA / tests.max(1) as f64,
            runs: [self.sides[0].runs, self.sides[1].runs],
            precision: self.precision,
        };
        self.could_show = self.precision.and_then(|precision| precision.could_show(evidence.each));
        self.verdict = evidence.verdict(better);
        let needed = evidence.out_of_reach().filter(|_| self.basis == Basis::Runs);
        self.flags.extend(needed.map(|needed| Flag::TooFewForSoMany { needed }));
    }

    /// The p values of the trends that are looked at.
    pub(super) fn drifts(&self) -> Vec<f64> {
        self.flags.iter().filter_map(Flag::drift).collect()
    }

    /// Leaves those trends whose adjusted p values, the next ones, say so.
    pub(super) fn keep_drifts(&mut self, adjusted: &mut impl Iterator<Item = f64>) {
        self.flags
            .retain(|flag| flag.drift().is_none() || adjusted.next().is_some_and(|p| p <= verdict::ALPHA));
    }
}

/// Returns true if differences of such values are finite.
fn usable(value: f64) -> bool {
    value.abs() < 1e300
}

/// Superiority of samples: with its interval where they are the sample, without it where runs are.
pub(super) fn of_samples(
    found: Option<Superiority>,
    runs: &[Vec<Grouped>; 2],
    exact: bool,
) -> Option<Superiority> {
    let reason = if exact { NoInterval::Exact } else { NoInterval::Dependent };
    let alone = !exact && runs.iter().all(|runs| runs.len() == 1);
    found.map(
        |found| if alone { found } else { Superiority::new(found.probability.value, Bounds::None(reason)) },
    )
}
