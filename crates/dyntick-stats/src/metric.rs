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
    /// The conditions under which they were taken.
    #[serde(default)]
    pub about: About,
}

/// The conditions under which a metric was taken, as far as its source states them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// True if the figure grows with the time that was watched: a maximum, a count, a sum, an energy.
    pub grows: bool,
    /// The step of a printed figure's last digit, in the metric's unit, where digits were cut off; 0 if unknown.
    pub step: f64,
    /// The distribution of the same samples, of which this is one point.
    pub summary_of: Option<MetricName>,
    /// The exposure of each run; empty if no run states it.
    pub exposure: Vec<Exposure>,
}

/// The samples or the time from which a figure of one run was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exposure {
    /// The number of samples; null if unknown.
    pub samples: Option<u64>,
    /// The time that was watched, in seconds; null if unknown.
    pub seconds: Option<f64>,
    /// True if the run was ended by its first value beyond a threshold.
    pub stopped_early: bool,
}

impl Exposure {
    /// The exposure of a typical run: medians of what the runs state; stopped early if any run was.
    pub fn typical(runs: &[Self]) -> Option<Self> {
        let median = |value: &dyn Fn(&Self) -> Option<f64>| {
            let values: Option<Vec<f64>> = runs.iter().map(value).collect();
            Some(crate::median(&values?)?.value)
        };
        let found = Self {
            samples: median(&|run| run.samples.map(|samples| samples as f64)).map(|samples| samples as u64),
            seconds: median(&|run| run.seconds),
            stopped_early: runs.iter().any(|run| run.stopped_early),
        };
        (found != Self::default()).then_some(found)
    }

    /// Returns true if a figure that grows with the exposure may be compared with one of another run: of as many
    /// samples, or of as long a time. An unknown exposure is taken to be equal.
    pub fn is_like(&self, other: &Self) -> bool {
        let near = |a: f64, b: f64| a.max(b) <= a.min(b) * (1.0 + MOST_UNEQUAL);
        let samples = self.samples.zip(other.samples).map(|(a, b)| near(a as f64, b as f64));
        let seconds = self.seconds.zip(other.seconds).map(|(a, b)| near(a, b));
        let known: Vec<bool> = samples.into_iter().chain(seconds).collect();
        let equal = known.is_empty() || known.contains(&true);
        equal && !self.stopped_early && !other.stopped_early
    }
}

/// The largest excess of one exposure over another that counts as equal: a count differs by as much.
const MOST_UNEQUAL: f64 = 0.05;

impl Metric {
    /// A metric of which no conditions are known.
    pub fn new(unit: &str, better: Better, clock: Clock, values: Values) -> Self {
        Self { unit: unit.to_owned(), better, clock, values, about: About::default() }
    }
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// The number of occurrences of each value, which is the lower end of its bucket.
    pub counts: Histogram,
    /// The width of a bucket: a property of the file, never of the buckets in use. `None` if it is unknown; then no
    /// quantile and no tail within a bucket is known.
    #[serde(default)]
    pub width: Option<u64>,
    /// The step of the measurement itself, to which the largest sample was cut off; 0 is taken as 1.
    #[serde(default)]
    pub step: u64,
    /// Samples that were larger than every value the histogram could hold (cyclictest's overflows); 0 for none.
    pub overflows: u64,
    /// The largest sample of all, where it is known although it may be among the overflows.
    pub max: Option<u64>,
    /// The mean as its source states it, which is used if buckets are wider than the step.
    #[serde(default)]
    pub mean: Option<f64>,
}

impl From<Histogram> for Samples {
    /// Samples that were all counted by value.
    fn from(counts: Histogram) -> Self {
        Self { max: counts.quantile(1.0), counts, width: Some(1), step: 1, ..Self::default() }
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
