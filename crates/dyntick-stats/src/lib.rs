// SPDX-License-Identifier: GPL-2.0-only
//! Summaries and comparisons of measured values. Pure: no I/O, no clock, no randomness but a seed's.
//!
//! What each figure means, where its formula comes from and what its interval was measured to cover is in the book's
//! chapter "What the statistics mean" (`docs/src/statistics.md`).

pub mod compare;
mod distribution;
mod drift;
mod factorial;
mod histogram;
mod interval;
mod many;
mod median;
mod metric;
mod normal;
mod order;
mod outliers;
mod power;
mod ranks;
mod rates;
mod shift;
mod superiority;

pub use distribution::{Grouped, POINTS, Point, Tail, ladder};
pub use drift::{Trend, trend};
pub use factorial::{Factor, Factorial, LevelMean, NotFactorial, Residual, Term, TwoWay, factorial};
pub use histogram::Histogram;
pub use interval::{Bounds, Estimate, Interval, LEVEL, NoInterval};
pub use many::holm;
pub use median::median;
pub use metric::{About, Better, Exposure, Metric, MetricName, Samples, Values};
pub use order::{Slot, interleaved};
pub use outliers::{Outlier, outliers};
pub use power::{MOST, POWER, Precision};
pub use rates::{Ratio, expected, ratio};
pub use shift::{Method, Test, mann_whitney, shift};
pub use superiority::{Superiority, superiority};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A summary of a few repeated measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The number of values.
    pub count: usize,
    /// The smallest.
    pub min: f64,
    /// The middle one (the mean of the two middle ones where their number is even).
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// The sample standard deviation (n - 1); 0 for a single value.
    pub deviation: f64,
}

impl Summary {
    /// Summarises values; `None` if there are none. Values that are not finite are left out.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        let median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
        Some(Self { count, min, median, mean, max, deviation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let summary = Summary::of(&[4.0, 2.0, 6.0, f64::NAN]).unwrap();
        assert_eq!(
            (summary.count, summary.min, summary.median, summary.mean, summary.max),
            (3, 2.0, 4.0, 4.0, 6.0)
        );
        assert_eq!(summary.deviation, 2.0);
        assert_eq!(Summary::of(&[7.0]).unwrap().deviation, 0.0);
        assert_eq!(Summary::of(&[]), None);
    }

    proptest! {
        #[test]
        fn ordered(values in prop::collection::vec(-1e9f64..1e9, 1..50)) {
            let summary = Summary::of(&values).unwrap();
            prop_assert!(summary.min <= summary.median && summary.median <= summary.max);
            prop_assert!(summary.min <= summary.mean + 1e-3 && summary.mean <= summary.max + 1e-3);
        }
    }
}
