// SPDX-License-Identifier: GPL-2.0-only
//! The metrics to compare: a named figure of several runs, or a distribution of samples in each run.

use crate::Histogram;
use dyntick_model::Clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One metric of one side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The unit as it is printed, `ns` or `1/s`; empty for a plain count.
    pub unit: String,
    /// The direction that is an improvement.
    pub better: Better,
    /// The clock of the runs. Equal runs of virtual time are one result seen several times, and not a sample.
    pub clock: Clock,
    /// The values.
    pub values: Values,
}

/// The direction that is an improvement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Smaller values: latencies, durations, interruptions.
    Lower,
    /// Larger values: throughput.
    Higher,
    /// The direction is unknown. A difference is then neither better nor worse.
    #[default]
    Unknown,
}

/// The values of each run, in the order of the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Values {
    /// One value of each run, in the metric's unit.
    Runs(Vec<f64>),
    /// Many samples of each run.
    Distribution(Vec<Samples>),
}

impl Values {
    /// The number of numbers held: values of runs, and different values of distributions.
    pub fn numbers(&self) -> usize {
        match self {
            Values::Runs(values) => values.len(),
            Values::Distribution(runs) => runs.iter().map(|samples| samples.counts.iter().count()).sum(),
        }
    }
}

/// The samples of one run: counted values in the metric's unit, and how many were too large to be counted by value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// The number of occurrences of each value.
    pub counts: Histogram,
    /// Samples that were larger than every value the histogram could hold (cyclictest's overflows); 0 for none.
    pub overflows: u64,
    /// The largest sample of all, where it is known although it may be among the overflows.
    pub max: Option<u64>,
}

impl From<Histogram> for Samples {
    /// Samples that were all counted by value.
    fn from(counts: Histogram) -> Self {
        Self { max: counts.quantile(1.0), counts, overflows: 0 }
    }
}

/// The name of a metric, as it is printed: `wake-up latency`, `T:0 max`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MetricName(String);

impl MetricName {
    /// The longest name, in bytes.
    pub const LONGEST: usize = 200;

    /// This name; none where it is empty, longer than [`MetricName::LONGEST`] or has control characters.
    pub fn new(name: &str) -> Option<Self> {
        let fits = !name.is_empty() && name.len() <= Self::LONGEST && !name.contains(char::is_control);
        fits.then(|| Self(name.to_owned()))
    }

    /// The name as it is printed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for MetricName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_can_be_printed_in_a_line() {
        assert_eq!(MetricName::new("T:0 max").unwrap().to_string(), "T:0 max");
        for refused in ["", "a\nb", &"x".repeat(201)] {
            assert_eq!(MetricName::new(refused), None);
        }
    }

    #[test]
    fn a_histogram_is_all_that_was_sampled() {
        let samples = Samples::from([(3, 2), (7, 1)].into_iter().collect::<Histogram>());
        assert_eq!((samples.overflows, samples.max), (0, Some(7)));
        assert_eq!(Samples::from(Histogram::default()).max, None);
    }
}
