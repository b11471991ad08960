// SPDX-License-Identifier: GPL-2.0-only
//! Counts of integers.

use std::collections::BTreeMap;

/// The number of occurrences of each value. Counts may come from an untrusted file, so sums saturate.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Histogram(BTreeMap<u64, u64>);

impl Histogram {
    /// Adds `count` occurrences of a value.
    pub fn add(&mut self, value: u64, count: u64) {
        if count > 0 {
            let sum = self.0.entry(value).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Histogram) {
        other.iter().for_each(|(value, count)| self.add(value, count));
    }

    /// Returns true if there are no occurrences.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of occurrences.
    pub fn total(&self) -> u64 {
        self.0.values().copied().fold(0, u64::saturating_add)
    }

    /// The values with their counts, in ascending order; only those that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(value, count)| (*value, *count))
    }

    /// The mean; none without occurrences.
    pub fn mean(&self) -> Option<f64> {
        let weighted = self.iter().map(|(value, count)| u128::from(value) * u128::from(count));
        let sum = weighted.fold(0, u128::saturating_add);
        (!self.0.is_empty()).then(|| sum as f64 / self.total() as f64)
    }

    /// The smallest value that at least this share (0 to 1) of all occurrences do not exceed: the
    /// nearest rank, so always a value that occurred. 0 is the minimum, 1 the maximum; none without
    /// occurrences.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let rank = ((share.clamp(0.0, 1.0) * self.total() as f64).ceil() as u64).max(1);
        let mut seen = 0u64;
        self.iter().find_map(|(value, count)| {
            seen = seen.saturating_add(count);
            (seen >= rank).then_some(value)
        })
    }

    /// The same counts in bins of this width, each named by its lower edge; a width of 0 is taken as 1.
    pub fn binned(&self, width: u64) -> Histogram {
        let mut binned = Histogram::default();
        self.iter().for_each(|(value, count)| binned.add(value - value % width.max(1), count));
        binned
    }

    /// The same counts in bins that double, each named by its lower edge, a power of two; 0 is counted with 1.
    pub fn octaves(&self) -> Histogram {
        self.iter().map(|(value, count)| (1 << value.max(1).ilog2(), count)).collect()
    }
}

impl FromIterator<(u64, u64)> for Histogram {
    fn from_iter<T: IntoIterator<Item = (u64, u64)>>(counts: T) -> Self {
        let mut histogram = Histogram::default();
        counts.into_iter().for_each(|(value, count)| histogram.add(value, count));
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sums_that_no_number_holds_end_at_the_greatest() {
        let histogram: Histogram = [(u64::MAX, u64::MAX), (7, u64::MAX), (7, 1)].into_iter().collect();
        assert_eq!((histogram.total(), histogram.quantile(0.5)), (u64::MAX, Some(7)));
        assert!(histogram.mean().is_some_and(|mean| mean > 1e18));
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let histogram: Histogram = [(10, 1), (20, 2), (40, 1), (99, 0)].into_iter().collect();
        let quantiles = [0.0, 0.25, 0.26, 0.75, 0.76, 1.0].map(|share| histogram.quantile(share).unwrap());
        assert_eq!(quantiles, [10, 10, 20, 20, 40, 40]);
        assert_eq!(histogram.mean(), Some(22.5));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn bins_that_double() {
        let histogram: Histogram =
            [(0, 1), (1, 1), (2, 1), (3, 1), (1023, 1), (1024, 2)].into_iter().collect();
        assert_eq!(histogram.octaves().iter().collect::<Vec<_>>(), [(1, 2), (2, 2), (512, 1), (1024, 2)]);
    }

    proptest! {
        #[test]
        fn agrees_with_the_sorted_values(values in prop::collection::vec(0u64..1000, 1..80), share in 0.0..=1.0f64) {
            let histogram: Histogram = values.iter().map(|value| (*value, 1)).collect();
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = ((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
            prop_assert_eq!(histogram.quantile(share), Some(sorted[rank - 1]));
            prop_assert_eq!(histogram.total(), values.len() as u64);
            prop_assert_eq!(histogram.binned(7).total(), histogram.total());
        }
    }
}
