// SPDX-License-Identifier: GPL-2.0-only
//! Distributions of samples, as counts of values: nothing here is as long as there are samples.

mod points;
mod shifts;
mod tails;

pub use points::{POINTS, Point};
pub use tails::{Tail, ladder};

pub(crate) use shifts::{between, more_often};

use crate::interval::{Bounds, NoInterval};
use crate::{Histogram, Samples, rates};
use std::borrow::Cow;

/// Counted samples, prepared for queries. The tool that measured truncated to integers, so a value covers the range
/// up to the next one: a histogram in us with 2 and 3 has samples between 2 and 3. Quantiles are interpolated in that
/// range, as if its samples were spread evenly; otherwise one sample in a million could move a median by a unit.
/// (This is the quantile of grouped data, as numpy.interp of the cumulative counts computes it.)
#[derive(Clone, Debug)]
pub struct Grouped {
    values: Vec<u64>,
    /// The number of samples up to and including each value.
    through: Vec<u64>,
    /// The distance of neighbouring values that could occur.
    width: u64,
    overflows: u64,
    max: Option<u64>,
}

impl Grouped {
    /// All these samples together.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Samples>) -> Self {
        let (mut overflows, mut max, mut unknown) = (0u64, None, false);
        let mut counts: Cow<'_, Histogram> = Cow::default();
        for run in runs {
            if counts.is_empty() {
                counts = Cow::Borrowed(&run.counts);
            } else {
                counts.to_mut().merge(&run.counts);
            }
            overflows = overflows.saturating_add(run.overflows);
            max = max.max(run.max);
            unknown |= run.overflows > 0 && run.max.is_none();
        }
        let mut through = 0u64;
        let (values, through): (Vec<u64>, Vec<u64>) = counts
            .iter()
            .map(|(value, count)| {
                through = through.saturating_add(count);
                (value, through)
            })
            .unzip();
        let max = if unknown { None } else { max.max(values.last().copied()) };
        Self { width: width(&values), values, through, overflows, max }
    }

    /// The number of samples, including those beyond the histogram.
    pub fn samples(&self) -> u64 {
        self.counted().saturating_add(self.overflows)
    }

    fn counted(&self) -> u64 {
        self.through.last().copied().unwrap_or(0)
    }

    /// The largest sample, where it is known.
    pub fn max(&self) -> Option<u64> {
        self.max
    }

    /// The number of samples beyond the histogram.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// The quantile at a share; none where there are no samples or it lies beyond the histogram.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        self.at(share.clamp(0.0, 1.0) * self.samples() as f64)
    }

    /// The value below which this number of samples lie, interpolated for a fraction of a sample.
    fn at(&self, rank: f64) -> Option<f64> {
        let bin = self.through.partition_point(|through| (*through as f64) < rank);
        let value = *self.values.get(bin)? as f64;
        let below = bin.checked_sub(1).map_or(0, |bin| self.through[bin]);
        let share = (rank - below as f64) / (self.through[bin] - below).max(1) as f64;
        Some(value + share.clamp(0.0, 1.0) * self.width as f64)
    }

    /// The interval of a quantile, as if samples did not depend on those before.
    pub fn quantile_bounds(&self, share: f64) -> Bounds {
        let Some((low, high)) = rates::ranks(self.samples(), share) else {
            return Bounds::None(NoInterval::TooFewSamples);
        };
        match (self.at((low - 1) as f64), self.at(high as f64)) {
            (Some(low), Some(high)) => Bounds::new(low, high, crate::LEVEL),
            _ => Bounds::None(NoInterval::Overflows),
        }
    }

    /// The mean of the counted values and their variance; none without samples or where some are beyond the histogram.
    pub fn moments(&self) -> Option<(f64, f64)> {
        let count = (self.counted() > 0 && self.overflows == 0).then(|| self.counted() as f64)?;
        let sum = |term: &dyn Fn(f64) -> f64| {
            self.bins().map(|(value, count)| term(value as f64) * count as f64).sum::<f64>()
        };
        let mean = sum(&|value| value) / count;
        let squares = sum(&|value| (value - mean).powi(2));
        Some((mean, squares / (count - 1.0).max(1.0)))
    }

    /// The values with their counts, in ascending order.
    fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let below = std::iter::once(0).chain(self.through.iter().copied());
        self.values
            .iter()
            .zip(self.through.iter().zip(below))
            .map(|(value, (through, below))| (*value, through - below))
    }

    /// The number of samples above a value; `None` if it is unknown, because the value lies above all counted ones
    /// and there are samples beyond.
    pub fn above(&self, limit: u64) -> Option<u64> {
        let bin = self.values.partition_point(|value| *value <= limit);
        let through = bin.checked_sub(1).map_or(0, |bin| self.through[bin]);
        let counted = self.counted() - through;
        let known = self.overflows == 0 || counted > 0 || self.values.last() == Some(&limit);
        known.then(|| counted.saturating_add(self.overflows))
    }
}

/// The distance of neighbouring values that can occur: one unit, or more if all values are multiples of it, as in a
/// histogram in us that is shown in ns. Distant values may have common divisors by chance, so two neighbours must
/// have occurred.
fn width(values: &[u64]) -> u64 {
    let common = values.iter().fold(0, |common, value| divisor(*value, common));
    let nearest = values.windows(2).map(|pair| pair[1] - pair[0]).min();
    if values.len() > 2 && nearest == Some(common) { common } else { 1 }
}

/// Euclid's.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grouped(counts: &[(u64, u64)]) -> Grouped {
        Grouped::of([&Samples::from(counts.iter().copied().collect::<Histogram>())])
    }

    #[test]
    fn within_a_value_by_its_share() {
        let found = grouped(&[(2, 50), (3, 50)]);
        let quantiles = [0.0, 0.25, 0.5, 0.51, 1.0].map(|share| found.quantile(share).unwrap());
        assert_eq!(quantiles, [2.0, 2.5, 3.0, 3.02, 4.0]);
        // A histogram in ns, but of multiples of 1 us; with two values the width is unknown.
        assert_eq!(grouped(&[(1000, 1), (3000, 1), (4000, 2)]).quantile(1.0), Some(5000.0));
        assert_eq!(grouped(&[(1000, 1), (3000, 1)]).quantile(1.0), Some(3001.0));
        assert_eq!(grouped(&[]).quantile(0.5), None);
        assert_eq!(found.moments().unwrap(), (2.5, 25.0 / 99.0));
    }

    #[test]
    fn what_is_beyond_the_histogram_is_not_guessed() {
        let samples = Samples { counts: [(5, 90)].into_iter().collect(), overflows: 10, max: None };
        let found = Grouped::of([&samples]);
        assert_eq!((found.samples(), found.max(), found.moments()), (100, None, None));
        assert!(found.quantile(0.89).is_some() && found.quantile(0.91).is_none());
        assert_eq!(found.quantile_bounds(0.89), Bounds::None(NoInterval::Overflows));
        assert_eq!([4, 5, 6].map(|limit| found.above(limit)), [Some(100), Some(10), None]);
        let known =
            Grouped::of([&Samples { max: Some(77), ..samples }, &Samples::from(Histogram::default())]);
        assert_eq!(known.max(), Some(77));
    }

    #[test]
    fn sums_that_no_number_holds() {
        let full = Samples {
            counts: [(1, u64::MAX), (u64::MAX, u64::MAX)].into_iter().collect(),
            overflows: u64::MAX,
            max: None,
        };
        let found = Grouped::of([&full, &full]);
        assert_eq!(found.samples(), u64::MAX);
        let _ = (found.quantile(1.0), found.quantile_bounds(0.5), found.above(7), found.moments());
    }

    proptest! {
        #[test]
        fn quantiles_never_fall(counts in prop::collection::vec((0u64..50, 1u64..9), 1..20), a in 0.0..=1.0f64, b in 0.0..=1.0f64) {
            let found = grouped(&counts);
            prop_assert!(found.quantile(a.min(b)) <= found.quantile(a.max(b)));
            if let Bounds::Interval(interval) = found.quantile_bounds(a) {
                prop_assert!(interval.covers(found.quantile(a).unwrap()));
            }
        }
    }
}
