// SPDX-License-Identifier: GPL-2.0-only
//! One figure of two sides, compared.

use super::flags::{self, Flag};
use super::fold::Fold;
use super::verdict::{self, Change, Evidence, Verdict};
use crate::distribution::{Grouped, Point, between};
use crate::interval::{Bounds, Estimate, NoInterval};
use crate::power::Precision;
use crate::shift::{Test, mann_whitney, shift};
use crate::superiority::{Superiority, superiority};
use crate::{Better, Exposure, Summary, median};
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
    /// From what a typical run took the figure, as far as it is known.
    pub exposure: Option<Exposure>,
    /// The range within which the figure is known, if that is wider than what a figure shows: the bucket of a
    /// histogram, or the last digit that a tool printed.
    pub known_within: Option<[f64; 2]>,
    /// The smallest and the largest figure of the threads or CPUs that were put together.
    pub range: Option<[f64; 2]>,
}

impl SideFigure {
    fn new(runs: usize, value: Estimate, summary: Option<Summary>) -> Self {
        Self { runs, value, summary, exposure: None, known_within: None, range: None }
    }
}

/// The properties of a metric that a verdict depends on beside its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scale {
    /// The step of the last digit, in the metric's unit.
    pub step: f64,
    /// True for a share in percent.
    pub share: bool,
    /// True if the figure grows with its exposure.
    pub grows: bool,
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
    #[serde(skip)]
    scale: Scale,
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
        let side = |runs: &[f64]| Some(SideFigure::new(runs.len(), median(runs)?, Summary::of(runs)));
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
        let side = |runs: &[Grouped], value| SideFigure::new(runs.len(), value, None);
        let mut figure = Self::new(Basis::Samples, [side(runs[0], a), side(runs[1], b)], shift);
        figure.test = shift.test();
        figure.flags.push(Flag::OneRun);
        Some(figure)
    }

    /// Compares runs that are equal on each side, in virtual time.
    pub(super) fn exact(a: f64, b: f64, runs: [usize; 2]) -> Self {
        let exact = |value| Estimate { value, bounds: Bounds::None(NoInterval::Exact) };
        let side = |runs, value| SideFigure::new(runs, exact(value), None);
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
            scale: Scale::default(),
        }
    }

    /// Adds the conditions under which the figure was taken. A figure that grows with unequal exposures is not tested.
    pub(super) fn under(mut self, scale: Scale, exposures: [Option<Exposure>; 2]) -> Self {
        self.scale = scale;
        for (side, exposure) in self.sides.iter_mut().zip(exposures) {
            side.exposure = exposure;
        }
        if self.is_unequal() {
            (self.test, self.superiority, self.precision) = (None, None, None);
            self.flags.clear();
        }
        self
    }

    /// Adds the ranges within which the figures are known; the step is as wide.
    pub(super) fn known(mut self, within: [Option<(f64, f64)>; 2]) -> Self {
        for (side, within) in self.sides.iter_mut().zip(within) {
            if let Some((low, high)) = within {
                side.known_within = Some([low, high]);
                self.scale.step = self.scale.step.max(high - low);
            }
        }
        self
    }

    /// Adds the ranges over the threads, CPUs or jobs that were put together.
    pub(super) fn ranged(mut self, fold: Option<&Fold>, point: Option<Point>) -> Self {
        for (at, side) in self.sides.iter_mut().enumerate() {
            side.range = fold.and_then(|fold| fold.range(at, point));
        }
        self
    }

    fn is_unequal(&self) -> bool {
        let exposures = self.sides[0].exposure.zip(self.sides[1].exposure);
        self.scale.grows && self.basis != Basis::Exact && exposures.is_some_and(|(a, b)| !a.is_like(&b))
    }

    /// The margin within which a difference does not matter, in the metric's unit.
    fn margin(&self, same_within: f64) -> f64 {
        let base = self.sides[0].value.value.abs();
        let within_100 = self.sides.iter().all(|side| (0.0..=100.0).contains(&side.value.value));
        let of = if self.scale.share && within_100 { base.min(100.0 - base) } else { base };
        let plain = of * same_within / 100.0;
        if self.could_be_equal() { plain.max(self.scale.step) } else { plain }
    }

    /// Returns true if the ranges within which both figures are known meet.
    fn could_be_equal(&self) -> bool {
        let range = |side: &SideFigure| side.known_within.unwrap_or([side.value.value; 2]);
        let [a, b] = [range(&self.sides[0]), range(&self.sides[1])];
        a[0] <= b[1] && b[0] <= a[1]
    }

    /// Gives the verdict, for this number of compared figures.
    pub(super) fn judge(&mut self, better: Better, same_within: f64, tests: usize) {
        if self.basis == Basis::Exact {
            let difference = self.shift.value;
            self.verdict = Verdict::TheChange { difference, change: Change::of(difference, better) };
            return;
        }
        if self.is_unequal() {
            self.verdict = Verdict::Unequal;
            return;
        }
        let base = self.sides[0].value.value.abs();
        let margin = self.margin(same_within);
        let coarse = margin > base * same_within / 100.0 && base > 0.0;
        let evidence = Evidence {
            shift: self.shift,
            margin,
            percent: if coarse { margin / base * 100.0 } else { same_within },
            one_run: self.sides.iter().any(|side| side.runs < 2),
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
