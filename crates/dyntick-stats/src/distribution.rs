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

/// Counted samples, prepared for queries. A value is the lower end of a bucket, whose width the source states: a
/// histogram in us with 2 and 3 has samples from 2 to 4. Quantiles are interpolated within a bucket, as if its samples
/// were spread evenly; otherwise one sample in a million could move a median by a bucket. The mean takes the middle of
/// each bucket for the same reason. (This is the quantile of grouped data, as numpy.interp of the cumulative counts
/// computes it.)
#[derive(Clone, Debug)]
pub struct Grouped {
    values: Vec<u64>,
    /// The number of samples up to and including each value.
    through: Vec<u64>,
    /// The width of a bucket, where it is known of all runs.
    width: Option<u64>,
    step: u64,
    overflows: u64,
    max: Option<u64>,
    /// The mean that the source states, of a single run.
    mean: Option<f64>,
}

/// The share of samples in one bucket from which on a quantile in it is not known more precisely than the bucket.
const ALONE: f64 = 0.9;

impl Grouped {
    /// All these samples together.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Samples>) -> Self {
        let (mut overflows, mut max, mut unknown) = (0u64, None, false);
        let mut counts: Cow<'_, Histogram> = Cow::default();
        let (mut width, mut step, mut means) = (Some(1), 1, Vec::new());
        for run in runs {
            // A run without counts has no buckets.
            if !run.counts.is_empty() {
                width = run.width.zip(width).map(|(one, other)| one.max(other));
            }
            step = step.max(run.step);
            means.push(run.mean);
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
        let mean = if let [mean] = means[..] { mean } else { None };
        Self { width, step, values, through, overflows, max, mean }
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

    /// The quantile at a share; none where there are no samples, it lies beyond the histogram, or the width of a
    /// bucket is unknown.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        self.at(share.clamp(0.0, 1.0) * self.samples() as f64)
    }

    /// The value below which this number of samples lie, interpolated for a fraction of a sample. It is not above the
    /// largest sample, unless its bucket has nearly all samples.
    fn at(&self, rank: f64) -> Option<f64> {
        let (bin, below, count) = self.bin(rank)?;
        let share = (rank - below as f64) / count.max(1) as f64;
        let value = self.values[bin] as f64 + share.clamp(0.0, 1.0) * self.width? as f64;
        let most = self.max.filter(|_| !self.is_alone(count)).map(|max| max.saturating_add(self.step) as f64);
        Some(most.map_or(value, |most| value.min(most)))
    }

    /// The bucket of a rank, the number of samples below it, and that in it.
    fn bin(&self, rank: f64) -> Option<(usize, u64, u64)> {
        let bin = self.through.partition_point(|through| (*through as f64) < rank);
        let below = bin.checked_sub(1).map_or(0, |bin| self.through[bin]);
        Some((bin, below, self.through.get(bin)? - below))
    }

    /// Returns true for a bucket that has nearly all samples, whose places in it are not known.
    fn is_alone(&self, count: u64) -> bool {
        count as f64 >= self.samples() as f64 * ALONE
    }

    /// The range within which a point is known: the bucket of a quantile that has nearly all samples, the step of the
    /// largest sample and of a mean that the source states. `None` for less than a figure shows.
    pub fn known_within(&self, point: Point) -> Option<(f64, f64)> {
        let step = self.step as f64;
        match point {
            Point::Quantile(share) => {
                let (bin, _, count) = self.bin(share * self.samples() as f64)?;
                let low = self.values[bin] as f64;
                self.is_alone(count).then(|| Some((low, low + self.width? as f64)))?
            }
            Point::Max => self.max.map(|max| (max as f64, max as f64 + step)),
            Point::Mean => {
                let (mean, width) = (self.value(point)?, self.width.unwrap_or(0) as f64);
                let one = self.bins().any(|(_, count)| self.is_alone(count));
                match self.stated_mean() {
                    Some(mean) => Some((mean, mean + step)),
                    None if one => Some((mean - width / 2.0, mean + width / 2.0)),
                    None => None,
                }
            }
        }
        .filter(|(low, high)| high - low > 1.0)
    }

    /// The mean that the source states, where that is more precise than the buckets.
    fn stated_mean(&self) -> Option<f64> {
        self.mean.filter(|_| self.width != Some(self.step))
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

    /// The mean of the middles of the buckets and its variance; none without samples, where some are beyond the
    /// histogram, or if the width of a bucket is unknown.
    pub fn moments(&self) -> Option<(f64, f64)> {
        let count = (self.counted() > 0 && self.overflows == 0).then(|| self.counted() as f64)?;
        let half = self.width? as f64 / 2.0;
        let sum = |term: &dyn Fn(f64) -> f64| {
            self.bins().map(|(value, count)| term(value as f64 + half) * count as f64).sum::<f64>()
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

    /// The number of samples above a limit: those of the buckets above that of the limit, if buckets are as wide as
    /// the step, else those at or above it. `None` if it is unknown: the limit lies within a bucket, or above all
    /// counted samples while there are samples beyond.
    pub fn above(&self, limit: u64) -> Option<u64> {
        self.width.filter(|width| limit % width.max(&1) == 0)?;
        let is_above = |value: u64| if self.is_coarse() { value >= limit } else { value > limit };
        let bin = self.values.partition_point(|value| !is_above(*value));
        let through = bin.checked_sub(1).map_or(0, |bin| self.through[bin]);
        let counted = self.counted() - through;
        let known = self.overflows == 0 || counted > 0 || self.values.last() == Some(&limit);
        known.then(|| counted.saturating_add(self.overflows))
    }

    /// Returns true if buckets are wider than the step of the measurement.
    fn is_coarse(&self) -> bool {
        self.width.is_some_and(|width| width > self.step)
    }

    /// The width of a bucket, where it is known.
    pub fn width(&self) -> Option<u64> {
        self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wide(counts: &[(u64, u64)], width: Option<u64>, step: u64) -> Grouped {
        let samples = Samples::from(counts.iter().copied().collect::<Histogram>());
        Grouped::of([&Samples { width, step, ..samples }])
    }

    fn grouped(counts: &[(u64, u64)]) -> Grouped {
        Grouped::of([&Samples::from(counts.iter().copied().collect::<Histogram>())])
    }

    #[test]
    fn within_a_value_by_its_share() {
        let found = grouped(&[(2, 50), (3, 50)]);
        let quantiles = [0.0, 0.25, 0.5, 0.51, 1.0].map(|share| found.quantile(share).unwrap());
        assert_eq!(quantiles, [2.0, 2.5, 3.0, 3.02, 4.0]);
        assert_eq!(grouped(&[]).quantile(0.5), None);
        assert_eq!(found.moments().unwrap(), (3.0, 25.0 / 99.0));
    }

    #[test]
    fn width_is_that_of_the_file_whatever_is_in_use() {
        let us = |counts: &[(u64, u64)]| wide(counts, Some(1000), 1000);
        assert_eq!(us(&[(2000, 100_000), (3000, 50_000)]).quantile(0.5), Some(2750.0));
        assert_eq!(us(&[(2000, 100_000), (3000, 50_001)]).quantile(0.5).map(f64::round), Some(2750.0));
        let one = us(&[(2000, 7)]);
        assert_eq!(one.quantile(0.5), Some(2500.0));
        assert_eq!(
            one.known_within(Point::Quantile(0.5)),
            Some((2000.0, 3000.0)),
            "known to be in its bucket"
        );
        let unknown = wide(&[(0, 9)], None, 1000);
        assert_eq!((unknown.quantile(0.5), unknown.moments(), unknown.above(0)), (None, None, None));
    }

    #[test]
    fn wide_buckets_hide_what_is_within() {
        let counts: Histogram = [(0, 944), (10_000, 55), (20_000, 1)].into_iter().collect();
        let samples = Samples {
            width: Some(10_000),
            step: 1000,
            max: Some(21_000),
            mean: Some(7000.0),
            ..Samples::from(counts)
        };
        let found = Grouped::of([&samples]);
        assert_eq!(found.quantile(0.99).map(f64::round), Some(18_364.0));
        assert_eq!(found.value(Point::Mean), Some(7000.0), "as the file states it");
        assert_eq!([10, 10_000, 20_000].map(|limit| found.above(limit)), [None, Some(56), Some(1)]);
    }

    #[test]
    fn no_quantile_is_above_the_maximum() {
        let counts: Histogram = [(0, 50), (40, 50)].into_iter().collect();
        let samples = Samples { width: Some(10), step: 1, max: Some(42), ..Samples::from(counts) };
        assert_eq!(Grouped::of([&samples]).quantile(0.99), Some(43.0));
    }

    #[test]
    fn what_is_beyond_the_histogram_is_not_guessed() {
        let samples = Samples {
            overflows: 10,
            max: None,
            ..Samples::from([(5, 90)].into_iter().collect::<Histogram>())
        };
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
            width: Some(u64::MAX),
            overflows: u64::MAX,
            ..Samples::default()
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
