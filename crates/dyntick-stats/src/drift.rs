// SPDX-License-Identifier: GPL-2.0-only
//! The test for values that rise or fall from run to run.

use crate::{normal, ranks, shift};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A trend over the order in which the runs happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// Kendall's tau between the order and the values, ties counting for nothing: 1 where every run exceeds
    /// all before it.
    pub tau: f64,
    /// The probability of such a trend or a stronger one, in either direction, if the order does not matter.
    pub p: f64,
    /// The excess of the second half of the runs over the first (Hodges-Lehmann), in the unit of the values.
    pub change: f64,
}

/// Up to this many runs the distribution is counted out.
const EXACT: usize = 40;

/// The trend of values in the order of their runs, by the Mann-Kendall test (Mann 1945; Kendall, Rank
/// Correlation Methods); none of fewer than 3 runs. It takes it that runs without a trend do not depend on
/// those before.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let count = values.len();
    if count < 3 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let groups = ranks::groups(&sorted);
    let pairs = count as f64 * (count - 1) as f64 / 2.0;
    let untied = pairs - ranks::tied(&groups, |size| size * (size - 1.0) / 2.0);
    let rising = rising(values, &sorted);
    let score = 2.0 * rising - untied;
    let p = if count <= EXACT { counted(&groups, rising) } else { approximate(count as f64, &groups, score) };
    let (first, second) = (&values[..count / 2], &values[count.div_ceil(2)..]);
    Some(Trend { tau: score / pairs, p, change: shift::shift(first, second)?.value })
}

/// The number of pairs of runs that rise.
fn rising(values: &[f64], sorted: &[f64]) -> f64 {
    // Counts of the values seen, by place, in a binary indexed tree (Fenwick 1994).
    let mut tree = vec![0u64; sorted.len() + 1];
    let mut pairs = 0;
    for value in values {
        let place = sorted.partition_point(|other| other < value);
        let mut at = place;
        while at > 0 {
            pairs += tree[at];
            at &= at - 1;
        }
        at = place + 1;
        while at < tree.len() {
            tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    pairs as f64
}

/// Over all orders of the values. Setting one group of equal values after the other among those before, the pairs
/// that rise are the Mann-Whitney statistic of the group, independent of the groups before.
fn counted(groups: &[usize], rising: f64) -> f64 {
    let mut shares = vec![1.0];
    let mut before = 0;
    for group in groups {
        shares = ranks::convolved(&shares, &ranks::statistic(before, *group));
        before += group;
    }
    let (at, last) = (rising as usize, shares.len() - 1);
    // The distribution is symmetric.
    let tail: f64 = shares[..=at.min(last - at)].iter().sum();
    (2.0 * tail).min(1.0)
}

fn approximate(count: f64, groups: &[usize], score: f64) -> f64 {
    let term = |size: f64| size * (size - 1.0) * (2.0 * size + 5.0);
    let variance = (term(count) - ranks::tied(groups, term)) / 18.0;
    if variance <= 0.0 { 1.0 } else { normal::both_tails((score.abs() - 1.0).max(0.0) / variance.sqrt()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let found = trend(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((found.tau, found.change), (1.0, 3.0));
        assert!((found.p - 2.0 / 120.0).abs() < 1e-12);
        let none = trend(&[4.0; 9]).unwrap();
        assert_eq!((none.tau, none.p, none.change), (0.0, 1.0, 0.0));
        assert_eq!(trend(&[1.0, 2.0]), None);
    }

    proptest! {
        #[test]
        fn pairs_as_if_they_were_listed(values in prop::collection::vec(0u8..12, 3..30)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let later = |at: usize| values[at + 1..].iter().filter(|value| **value > values[at]).count();
            let listed: usize = (0..values.len()).map(later).sum();
            prop_assert_eq!(rising(&values, &sorted), listed as f64);
        }

        /// All orders of a few values, listed.
        #[test]
        fn p_is_a_share_of_all_orders(values in prop::collection::vec(0u8..4, 3..6)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let found = trend(&values).unwrap();
            let (mut all, mut extreme) = (0, 0);
            let mut orders = vec![(Vec::new(), values)];
            while let Some((order, rest)) = orders.pop() {
                if rest.is_empty() {
                    all += 1;
                    extreme += usize::from(trend(&order).unwrap().tau.abs() >= found.tau.abs() - 1e-12);
                }
                for at in 0..rest.len() {
                    let (mut order, mut rest) = (order.clone(), rest.clone());
                    order.push(rest.remove(at));
                    orders.push((order, rest));
                }
            }
            prop_assert!((found.p - f64::from(all as u32).recip() * extreme as f64).abs() < 1e-9);
        }
    }
}
