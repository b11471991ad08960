// SPDX-License-Identifier: GPL-2.0-only
//! Ranks, pairs, and the distributions of their counts where nothing differs.

/// The number of pairs with a larger value of `b` than of `a`; equal ones count half. This is the Mann-Whitney
/// statistic.
pub(crate) fn wins(a: &[f64], b: &[f64]) -> f64 {
    let mut sorted = a.to_vec();
    sorted.sort_by(f64::total_cmp);
    b.iter().map(|value| place(&sorted, *value)).sum()
}

/// The number of sorted values that are smaller than this one; equal ones count half.
pub(crate) fn place(sorted: &[f64], value: f64) -> f64 {
    let smaller = sorted.partition_point(|other| *other < value);
    let not_larger = sorted.partition_point(|other| *other <= value);
    (smaller + not_larger) as f64 / 2.0
}

/// The sizes of the groups of equal values, in ascending order of the values.
pub(crate) fn groups(sorted: &[f64]) -> Vec<usize> {
    sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).collect()
}

/// The sum over groups of equal values by which a variance of ranks shrinks.
pub(crate) fn tied(groups: &[usize], term: impl Fn(f64) -> f64) -> f64 {
    groups.iter().map(|size| term(*size as f64)).sum()
}

/// The probabilities of each value of the Mann-Whitney statistic, 0 to `m n`, if all orders are equally likely and
/// there are no ties. Its generating function is a quotient of products of (1 - q^i) (Mann and Whitney 1947; Andrews,
/// The Theory of Partitions, 3.2): one pass for each factor, of the lower half, for it is symmetric. Of up to
/// 125 values a side their sum is 1 to 1e-14.
pub(crate) fn statistic(m: usize, n: usize) -> Vec<f64> {
    let (few, many) = (m.min(n), m.max(n));
    let half = few * many / 2;
    let mut shares = vec![0.0; half + 1];
    shares[0] = 1.0;
    for factor in 1..=few {
        let above = many + factor;
        (above..=half).rev().for_each(|at| shares[at] -= shares[at - above]);
        (factor..=half).for_each(|at| shares[at] += shares[at - factor]);
        // Kept small: of 50 and 50 there are 1e29 orders.
        let share = factor as f64 / above as f64;
        shares.iter_mut().for_each(|count| *count *= share);
    }
    // A value in the middle is counted once.
    let upper = few * many - half;
    shares.extend_from_within(..upper);
    shares[half + 1..].reverse();
    shares
}

/// The probabilities of the sums of two independent counts.
pub(crate) fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; a.len() + b.len() - 1];
    for (at, left) in a.iter().enumerate() {
        b.iter().enumerate().for_each(|(by, right)| sums[at + by] += left * right);
    }
    sums
}

/// The `rank`th smallest of all differences `b - a`, from 0, of sorted values. Differences are not listed: what
/// bisects them is the order of floating-point numbers, 64 steps of a walk along both. Values must be finite.
pub(crate) fn difference(a: &[f64], b: &[f64], rank: u64) -> f64 {
    let (mut low, mut high) = (ordinal(f64::NEG_INFINITY), ordinal(f64::INFINITY));
    while low < high {
        // Neither sum nor difference of two ordinals overflows 128 bits.
        let between = ((i128::from(low) + i128::from(high)) >> 1) as i64;
        if not_above(a, b, number(between)) > rank {
            high = between;
        } else {
            low = between + 1;
        }
    }
    number(low)
}

/// The number of differences `b - a` that are not above a limit.
fn not_above(a: &[f64], b: &[f64], limit: f64) -> u64 {
    let (mut count, mut reached) = (0u64, 0);
    for small in a {
        while reached < b.len() && b[reached] - small <= limit {
            reached += 1;
        }
        count += reached as u64;
    }
    count
}

/// An integer in the order of the floating-point number that it encodes; -0 before 0.
fn ordinal(number: f64) -> i64 {
    let bits = number.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

fn number(ordinal: i64) -> f64 {
    f64::from_bits((ordinal ^ (((ordinal >> 63) as u64) >> 1) as i64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_order_counted() {
        // Of 2 and 3 values there are 10 orders.
        let tenths: Vec<f64> = statistic(2, 3).iter().map(|share| (share * 10.0).round()).collect();
        assert_eq!(tenths, [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
        let many = statistic(120, 125);
        assert!((many.iter().sum::<f64>() - 1.0).abs() < 1e-13);
        assert!(many.iter().zip(many.iter().rev()).all(|(low, high)| low == high && *low >= 0.0));
        assert_eq!(statistic(0, 4), [1.0]);
    }

    proptest! {
        #[test]
        fn differences_as_if_they_were_listed(
            mut a in prop::collection::vec(-9i32..9, 1..9),
            mut b in prop::collection::vec(-9e9..9e9f64, 1..9),
            share in 0.0..1.0f64,
        ) {
            a.sort_unstable();
            b.sort_by(f64::total_cmp);
            let a: Vec<f64> = a.iter().map(|value| f64::from(*value) * 1e9).collect();
            let mut all: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
            all.sort_by(f64::total_cmp);
            let rank = (share * all.len() as f64) as usize;
            prop_assert_eq!(difference(&a, &b, rank as u64), all[rank]);
        }

        #[test]
        fn numbers_have_their_order(a: f64, b: f64) {
            prop_assert_eq!(ordinal(a).cmp(&ordinal(b)), a.total_cmp(&b));
            prop_assert_eq!(number(ordinal(a)).to_bits(), a.to_bits());
        }
    }
}
