// SPDX-License-Identifier: GPL-2.0-only
//! Intervals, and why there is none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The coverage that is asked for: intervals have this or more.
pub const LEVEL: f64 = 0.95;

/// A confidence interval, ends included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The share of repetitions of the experiment in which such an interval covers the true value. Methods that can
    /// only choose among ranks state the level that they reach, which is more than [`LEVEL`].
    pub level: f64,
}

impl Interval {
    /// Returns true if it contains this value.
    pub fn covers(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Returns true if it lies within this distance of zero.
    pub fn within(&self, distance: f64) -> bool {
        -distance <= self.low && self.high <= distance
    }

    /// Half its width.
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// An interval, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bounds {
    /// The interval.
    Interval(Interval),
    /// There is no interval, for this reason.
    None(NoInterval),
}

/// The reason for which there is no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoInterval {
    /// There are too few runs for [`LEVEL`], whatever the values are.
    TooFewRuns {
        /// The number of runs of each side that would be enough.
        needed: usize,
    },
    /// The values between which it would lie are equal: the measurement does not resolve them, and a width of zero
    /// would claim that there is no uncertainty.
    NoSpread,
    /// Too few samples lie beyond this quantile.
    TooFewSamples,
    /// The interval would reach beyond the histogram.
    Overflows,
    /// The largest value of one run says nothing about the largest possible value.
    Maximum,
    /// The source states the figure alone, and not the samples.
    Stated,
    /// The runs are of virtual time and equal: there is nothing uncertain.
    Exact,
    /// The samples of one run depend on one another, and the runs are distinguished elsewhere.
    Dependent,
}

impl Bounds {
    /// The interval, if there is one.
    pub fn interval(&self) -> Option<&Interval> {
        match self {
            Self::Interval(interval) => Some(interval),
            Self::None(_) => None,
        }
    }

    /// These ends; none if they are equal.
    pub(crate) fn new(low: f64, high: f64, level: f64) -> Self {
        if low < high {
            Self::Interval(Interval { low, high, level })
        } else {
            Self::None(NoInterval::NoSpread)
        }
    }

    /// The interval with both ends changed by a monotonic function.
    pub(crate) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Interval(Interval { low, high, level }) => {
                Self::Interval(Interval { low: change(low), high: change(high), level })
            }
            none => none,
        }
    }
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The certainty.
    pub bounds: Bounds,
}
