// SPDX-License-Identifier: GPL-2.0-only
//! The shift of one side from the other (Hodges-Lehmann), and the test for it.
//!
//! The shift is the median of all differences between a value of one side and a value of the other (Hodges and Lehmann
//! 1963). Its interval consists of the shifts that the Mann-Whitney test would not reject; it lies between two of these
//! differences (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.2 and 4.3). Both assume that the two
//! sides are distributed alike but for the shift; then the interval holds for every distribution, and with ties it
//! covers more (Noether 1967).

use crate::interval::{Bounds, Estimate, LEVEL, NoInterval};
use crate::{normal, ranks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Returns true if the distribution of the statistic is counted, and not taken as normal: up to 125 values a side.
fn countable(m: usize, n: usize) -> bool {
    m.saturating_mul(n).saturating_mul(m.min(n)) <= STEPS
}

/// The steps that counting may take.
const STEPS: usize = 2_000_000;

/// The excess of the values of `b` over those of `a`, with its interval; `None` if a side has none. Values must be
/// finite.
pub fn shift(a: &[f64], b: &[f64]) -> Option<Estimate> {
    let (a, b) = (sorted(a), sorted(b));
    let last = (a.len() as u64 * b.len() as u64).checked_sub(1)?;
    let middle = [last / 2, last.div_ceil(2)].map(|rank| ranks::difference(&a, &b, rank));
    Some(Estimate { value: f64::midpoint(middle[0], middle[1]), bounds: bounds(&a, &b) })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn bounds(a: &[f64], b: &[f64]) -> Bounds {
    let last = a.len() as u64 * b.len() as u64 - 1;
    match outside(a.len(), b.len(), LEVEL) {
        Some((outside, level)) => {
            let [low, high] = [outside, last - outside].map(|rank| ranks::difference(a, b, rank));
            Bounds::new(low, high, level)
        }
        None => Bounds::None(NoInterval::TooFewRuns { needed: fewest(1.0 - LEVEL) }),
    }
}

/// The number of differences outside an interval of at least this level on each side, and its coverage.
fn outside(m: usize, n: usize, least: f64) -> Option<(u64, f64)> {
    if !countable(m, n) {
        let half_width = normal::two_sided(least) * deviation(m as f64, n as f64, 0.0);
        let outside = m as f64 * n as f64 / 2.0 - half_width - 0.5;
        return (outside >= 0.0).then_some((outside as u64, least));
    }
    let mut found = None;
    let mut below = 0.0;
    for (outside, share) in ranks::statistic(m, n).into_iter().enumerate() {
        below += share;
        if 1.0 - 2.0 * below < least - 1e-12 {
            break;
        }
        found = Some((outside as u64, 1.0 - 2.0 * below));
    }
    found
}

/// The largest p value of the exact test that is at most this: of few runs it has few values.
pub(crate) fn reachable(m: usize, n: usize, p: f64) -> f64 {
    let few = m + n <= 24;
    let found = if few { outside(m, n, 1.0 - p) } else { None };
    found.map_or(p, |(_, level)| 1.0 - level)
}

/// The smallest p value that the exact test can have: where all of one side are above all of the other.
pub(crate) fn least(m: usize, n: usize) -> f64 {
    // 2 / C(m + n, n), factor by factor; after 500 factors it is smaller than any p in use.
    (1..=m.min(n).min(500))
        .fold(2.0, |least, factor| least * factor as f64 / (m.max(n) + factor) as f64)
        .min(1.0)
}

/// The fewest runs of each side with which the exact test can have a p value of at most this.
pub(crate) fn fewest(p: f64) -> usize {
    (1..500).find(|runs| least(*runs, *runs) <= p).unwrap_or(500)
}

/// The statistic's standard deviation where nothing differs; `ties` is the sum of t^3 - t over groups of equal values.
fn deviation(m: f64, n: f64, ties: f64) -> f64 {
    let all = m + n;
    (m * n / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)))).max(0.0).sqrt()
}

/// The test for a difference of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Test {
    /// The probability of a difference like this or larger, in either direction, if the sides do not differ.
    pub p: f64,
    /// The method.
    pub method: Method,
}

/// The method by which a p value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// All orders counted, without ties (Mann and Whitney 1947).
    Exact,
    /// All ways to deal the values, ties included, counted (Streitberg and Röhmel 1986).
    Permutation,
    /// The normal distribution with the variance corrected for ties, and a correction for continuity.
    Normal,
    /// The width of the shift's interval.
    Interval,
}

/// The largest number of values for the exact test. With more of them, ties or not, the normal distribution is near
/// enough; and no product of them overflows.
const MOST_TIED: usize = 1000;

/// The Mann-Whitney test (Wilcoxon's rank sum test), two-sided: twice the smaller tail. None if a side has no values.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<Test> {
    let (m, n) = (a.len(), b.len());
    let pooled = sorted(&[a, b].concat());
    let groups = ranks::groups(&pooled);
    let wins = ranks::wins(a, b);
    if m == 0 || n == 0 {
        return None;
    }
    let (all, tied) = (m + n, groups.iter().any(|size| *size > 1));
    let test = if groups.len() == 1 {
        Test { p: 1.0, method: Method::Permutation }
    } else if !tied && countable(m, n) {
        Test { p: both(&ranks::statistic(m, n), wins as usize), method: Method::Exact }
    } else if tied && all <= MOST_TIED && all * m.min(n) * all * (all + 1) <= STEPS {
        Test { p: dealt(a, b, &pooled), method: Method::Permutation }
    } else {
        let ties = ranks::tied(&groups, |size| size.powi(3) - size);
        let distance = ((wins - m as f64 * n as f64 / 2.0).abs() - 0.5).max(0.0);
        let p = normal::both_tails(distance / deviation(m as f64, n as f64, ties));
        Test { p, method: Method::Normal }
    };
    Some(test)
}

/// Twice the smaller of both tails that begin at a value.
fn both(shares: &[f64], at: usize) -> f64 {
    let (low, high) = (&shares[..=at], &shares[at..]);
    (2.0 * low.iter().sum::<f64>().min(high.iter().sum())).clamp(0.0, 1.0)
}

/// The p value over all ways to deal the pooled values to the two sides. The number of ways that give the smaller
/// side each sum of ranks is built up value by value; ranks are doubled, so that those of ties are integers.
fn dealt(a: &[f64], b: &[f64], pooled: &[f64]) -> f64 {
    let small = if a.len() <= b.len() { a } else { b };
    let doubled = |value: &f64| (2.0 * ranks::place(pooled, *value)) as usize + 1;
    let width = pooled.len() * (pooled.len() + 1) + 1;
    let mut ways = vec![vec![0.0; width]; small.len() + 1];
    ways[0][0] = 1.0;
    for (dealt, value) in pooled.iter().enumerate() {
        let rank = doubled(value);
        for taken in (0..small.len().min(dealt + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(taken + 1);
            let from = fewer[taken].iter();
            more[0][rank..].iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }
    let last = &ways[small.len()];
    let all: f64 = last.iter().sum();
    let shares: Vec<f64> = last.iter().map(|ways| ways / all).collect();
    both(&shares, small.iter().map(doubled).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let found = shift(&[1.0, 2.0, 3.0, 4.0], &[11.0, 12.0, 13.0, 14.0]).unwrap();
        let interval = found.bounds.interval().unwrap();
        assert_eq!((found.value, interval.low, interval.high), (10.0, 7.0, 13.0));
        assert!((interval.level - (1.0 - 2.0 / 70.0)).abs() < 1e-12);
        let few = shift(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0]).unwrap();
        assert_eq!(few.bounds, Bounds::None(NoInterval::TooFewRuns { needed: 4 }));
        assert_eq!(shift(&[5.0; 4], &[6.0; 4]).unwrap().bounds, Bounds::None(NoInterval::NoSpread));
        assert_eq!(shift(&[], &[1.0]), None);
    }

    #[test]
    fn how_many_runs_can_be_enough() {
        assert_eq!([0.05, 0.01, 0.001, 1e-6].map(fewest), [4, 5, 7, 12]);
        assert_eq!((least(1, 1), least(1, 3), least(1, 40)), (1.0, 0.5, 2.0 / 41.0));
    }

    #[test]
    fn tests_by_hand() {
        let apart = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert_eq!(apart.method, Method::Exact);
        assert!((apart.p - 0.1).abs() < 1e-12);
        let equal = mann_whitney(&[2.0; 3], &[2.0; 5]).unwrap();
        assert_eq!(equal.p, 1.0);
        // All zero against all one: 2 of the 70 ways.
        let apart = mann_whitney(&[0.0; 4], &[1.0; 4]).unwrap();
        assert_eq!(apart.method, Method::Permutation);
        assert!((apart.p - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
    }

    proptest! {
        /// Without ties, counting orders and dealing values are two ways to the same p value.
        #[test]
        fn two_ways_to_the_same_p(values in prop::collection::hash_set(0u32..1_000_000, 2..16), share in 0.0..1.0f64) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let (a, b) = values.split_at(((values.len() as f64 * share) as usize).clamp(1, values.len() - 1));
            let exact = mann_whitney(a, b).unwrap();
            prop_assert_eq!(exact.method, Method::Exact);
            prop_assert!((exact.p - dealt(a, b, &sorted(&values))).abs() < 1e-9);
        }

        #[test]
        fn the_other_way_round(a in prop::collection::vec(0u8..20, 1..12), b in prop::collection::vec(0u8..20, 1..12)) {
            let [a, b] = [a, b].map(|side| side.into_iter().map(f64::from).collect::<Vec<f64>>());
            let (there, back) = (shift(&a, &b).unwrap(), shift(&b, &a).unwrap());
            prop_assert_eq!(there.value, -back.value);
            prop_assert_eq!(
                there.bounds.interval().map(|interval| (interval.low, interval.high)),
                back.bounds.interval().map(|interval| (-interval.high, -interval.low))
            );
            let p = [mann_whitney(&a, &b).unwrap().p, mann_whitney(&b, &a).unwrap().p];
            prop_assert!((p[0] - p[1]).abs() < 1e-9);
        }

        #[test]
        fn many_values_take_no_memory(a in prop::collection::vec(-1e6..1e6f64, 300..400)) {
            let b: Vec<f64> = a.iter().map(|value| value + 7.0).collect();
            let found = shift(&a, &b).unwrap();
            prop_assert!((found.value - 7.0).abs() < 1e-6);
            prop_assert!(found.bounds.interval().unwrap().covers(7.0));
        }
    }
}
