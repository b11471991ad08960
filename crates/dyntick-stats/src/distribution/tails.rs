// SPDX-License-Identifier: GPL-2.0-only
//! Tails by count: how many samples were above a limit.

use super::Grouped;
use crate::interval::{Bounds, Estimate, NoInterval};
use crate::rates::{self, Ratio};
use crate::shift::shift;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The numbers of samples of two sides above a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// The limit, in the metric's unit. What equals it is not above, unless buckets are wider than the measurement's
    /// step ([`Tail::or_equal`]).
    pub limit: u64,
    /// True if samples that equal the limit are counted too.
    pub or_equal: bool,
    /// Samples above it, of each side.
    pub above: [u64; 2],
    /// All samples of each side.
    pub samples: [u64; 2],
    /// The share above it of each side, with the interval of a Poisson count where there is one run.
    pub share: [Estimate; 2],
    /// The frequency on the second side divided by that on the first, as if the samples were independent; only for
    /// one run each.
    pub ratio: Option<Ratio>,
    /// The excess of the second side's runs, in samples per million (Hodges-Lehmann); only for several runs.
    pub shift: Option<Estimate>,
}

impl Tail {
    /// Compares the runs of two sides; `None` if a count is unknown or there are no samples.
    pub(crate) fn of(limit: u64, sides: [&[Grouped]; 2]) -> Option<Self> {
        let count = |runs: &[Grouped]| {
            let above: Vec<u64> = runs.iter().map(|run| run.above(limit)).collect::<Option<_>>()?;
            Some((above, runs.iter().map(Grouped::samples).collect::<Vec<u64>>()))
        };
        let counts = [count(sides[0])?, count(sides[1])?];
        let sum = |counts: &[u64]| counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        let above = [sum(&counts[0].0), sum(&counts[1].0)];
        let samples = [sum(&counts[0].1), sum(&counts[1].1)];
        let alone = sides.iter().any(|runs| runs.len() < 2);
        let share = |side: usize| Estimate {
            value: above[side] as f64 / samples[side] as f64,
            bounds: if counts[side].0.len() < 2 {
                rates::frequency(above[side], samples[side])
            } else {
                Bounds::None(NoInterval::Dependent)
            },
        };
        let millions = |side: usize| {
            let each = counts[side].0.iter().zip(&counts[side].1);
            each.map(|(above, samples)| *above as f64 / (*samples).max(1) as f64 * 1e6).collect::<Vec<f64>>()
        };
        (!samples.contains(&0)).then(|| Self {
            limit,
            or_equal: sides.iter().flat_map(|runs| runs.iter()).any(Grouped::is_coarse),
            above,
            samples,
            share: [share(0), share(1)],
            ratio: if alone { rates::ratio(above, samples) } else { None },
            shift: if alone { None } else { shift(&millions(0), &millions(1)) },
        })
    }
}

/// The default limits for two sides: 1, 2 and 5 times the powers of ten, from the value that one in a hundred of all
/// samples exceeds to below the largest counted value. The ten highest are returned.
pub fn ladder(sides: [&Grouped; 2]) -> Vec<u64> {
    let from = sides.iter().filter_map(|side| side.quantile(0.99)).fold(f64::INFINITY, f64::min);
    // Above the last counted value of a histogram that something is beyond, nothing is known.
    let known = |side: &&Grouped| if side.overflows > 0 { side.values.last().copied() } else { None };
    let largest = sides.iter().filter_map(|side| side.values.last().copied()).max().unwrap_or(0);
    let upto = sides.iter().filter_map(known).fold(largest, u64::min);
    // A limit within a bucket divides samples that are not distinguished.
    let Some(width) = sides.iter().map(|side| side.width()).try_fold(1, |most, width| Some(width?.max(most)))
    else {
        return Vec::new();
    };
    let powers = (0..19).flat_map(|power| [1, 2, 5].map(|digit: u64| digit * 10u64.pow(power)));
    let limits: Vec<u64> =
        powers.filter(|limit| limit % width == 0 && *limit as f64 >= from.floor() && *limit < upto).collect();
    limits[limits.len().saturating_sub(MOST)..].to_vec()
}

const MOST: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Histogram, Samples};

    fn side(counts: &[(u64, u64)], overflows: u64) -> Grouped {
        let counts: Histogram = counts.iter().copied().collect();
        Grouped::of([&Samples { max: None, overflows, ..Samples::from(counts) }])
    }

    #[test]
    fn of_one_run_each() {
        let (a, b) = (side(&[(3, 999_990), (60, 10)], 0), side(&[(3, 1_999_940), (60, 60)], 0));
        assert_eq!(ladder([&a, &b]), [5, 10, 20, 50]);
        let tail = Tail::of(50, [std::slice::from_ref(&a), std::slice::from_ref(&b)]).unwrap();
        assert_eq!((tail.above, tail.samples), ([10, 60], [1_000_000, 2_000_000]));
        let ratio = tail.ratio.unwrap();
        assert!((ratio.value.unwrap() - 3.0).abs() < 1e-9 && ratio.low > 1.0 && ratio.high.unwrap() > 5.0);
        assert!(tail.share[0].bounds.interval().unwrap().covers(1e-5));
        assert_eq!(tail.shift, None);
    }

    #[test]
    fn several_runs_are_distinguished() {
        let run = |above: u64| side(&[(3, 1_000_000 - above), (60, above)], 0);
        let (a, b) = ([1, 2, 3, 4].map(run), [11, 12, 13, 14].map(run));
        let tail = Tail::of(50, [&a, &b]).unwrap();
        assert_eq!((tail.above, tail.ratio), ([10, 50], None));
        let shift = tail.shift.unwrap();
        assert!((shift.value - 10.0).abs() < 1e-9 && shift.bounds.interval().is_some());
        assert_eq!(tail.share[0].bounds, Bounds::None(NoInterval::Dependent));
    }

    #[test]
    fn what_cannot_be_known() {
        let (a, b) = (side(&[(3, 99), (30, 1)], 5), side(&[(3, 99), (3000, 1)], 0));
        assert_eq!(ladder([&a, &b]), [5, 10, 20]);
        assert_eq!(Tail::of(50, [std::slice::from_ref(&a), std::slice::from_ref(&b)]), None);
        assert_eq!(ladder([&side(&[], 0), &side(&[], 0)]), [0; 0]);
    }
}
