// SPDX-License-Identifier: GPL-2.0-only
//! Runs that lie far from the others of their side.

use crate::median::{median_distance, middle};
use crate::normal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The standard deviation of normal values over their median distance from the median.
const NORMAL: f64 = 1.482_602_218_505_602;

/// A run that lies far from the others. It is reported, and never left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// The run, from 0.
    pub index: usize,
    /// The value.
    pub value: f64,
    /// The median of all runs of its side.
    pub median: f64,
    /// The distance from the median, in units of the runs' spread; signed.
    pub distance: f64,
    /// The distance from which on a run is shown, for this number of runs.
    pub limit: f64,
}

/// The runs that lie further from the median than chance would have it: Hampel's rule, distances in units of the median
/// distance (MAD, scaled as a standard deviation), with a limit that depends on the number of runs such that of normal
/// values at most 5 % of all samples have any such run (Davies and Gather 1993). Skewed values have more. None of fewer
/// than 5 runs, or where half of them are equal.
pub fn outliers(values: &[f64]) -> Vec<Outlier> {
    let (Some(limit), Some(median), Some(spread)) = (limit(values.len()), center(values), spread(values))
    else {
        return Vec::new();
    };
    let expected = values.iter().enumerate().map(|(index, &value)| {
        let distance = (value - median) / spread;
        Outlier { index, value, median, distance, limit }
    });
    expected.filter(|outlier| spread > 0.0 && outlier.distance.abs() > limit).collect()
}

/// The limit for this number of runs, from 100 000 simulated samples of each size (`tests/coverage/` repeats it): the
/// simulated limits for 5 to 9 runs, and above that a function that is near them and tends to the limit of the normal
/// distribution.
fn limit(count: usize) -> Option<f64> {
    const FEW: [f64; 5] = [7.95, 5.55, 5.91, 4.93, 5.07];
    if count < 10 {
        return count.checked_sub(5).map(|at| FEW[at]);
    }
    let each = LEVEL.powf(1.0 / count as f64);
    Some(normal::two_sided(each) * (1.0 + 7.0 / count as f64))
}

/// The share of samples of normal values that have no outlier.
const LEVEL: f64 = 0.95;

fn center(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    middle(&sorted)
}

/// The median distance of the values from their median, as a standard deviation of normal values.
pub(crate) fn spread(values: &[f64]) -> Option<f64> {
    median_distance(values, center(values)?).map(|distance| distance * NORMAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlier_is_reported() {
        let mut values: Vec<f64> = (0..11).map(f64::from).collect();
        assert!(outliers(&values).is_empty());
        values[3] = 100.0;
        let [found] = outliers(&values)[..] else { panic!() };
        assert_eq!((found.index, found.value, found.median), (3, 100.0, 6.0));
        // The median distance is 3.
        assert!((found.distance - 94.0 / (3.0 * NORMAL)).abs() < 1e-9);
    }

    #[test]
    fn too_few_or_equal_runs_have_none() {
        assert!(outliers(&[1.0, 2.0, 3.0, 1e9]).is_empty());
        assert!(outliers(&[1.0, 1.0, 1.0, 1.0, 1e9]).is_empty());
        assert!(outliers(&[]).is_empty());
    }
}
