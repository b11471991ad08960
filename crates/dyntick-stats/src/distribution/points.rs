// SPDX-License-Identifier: GPL-2.0-only
//! At which points distributions are compared.

use super::Grouped;
use crate::interval::{Bounds, Estimate, NoInterval};
use crate::normal;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A point of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Point {
    /// The value that this share, 0 to 1, of all samples does not exceed.
    Quantile(f64),
    /// The largest sample.
    Max,
    /// The mean of all samples.
    Mean,
}

/// The points at which distributions are compared.
pub const POINTS: [Point; 8] = [
    Point::Quantile(0.5),
    Point::Quantile(0.9),
    Point::Quantile(0.99),
    Point::Quantile(0.999),
    Point::Quantile(0.9999),
    Point::Quantile(0.99999),
    Point::Max,
    Point::Mean,
];

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // Rounded to what shares are given with: 0.999 times 100 has more digits.
            Self::Quantile(share) => write!(f, "p{}", (share * 1e8).round() / 1e6),
            Self::Max => f.write_str("max"),
            Self::Mean => f.write_str("mean"),
        }
    }
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = POINTS.into_iter().find(|point| point.to_string() == text);
        known.ok_or_else(|| serde::de::Error::custom(format!("unknown point '{text}'")))
    }
}

impl JsonSchema for Point {
    fn schema_name() -> Cow<'static, str> {
        "Point".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "A point of a distribution: a quantile, as `p99.9`, or `max`, or `mean`.",
            "type": "string",
        })
    }
}

impl Grouped {
    /// The value at a point; `None` if there is none or it is beyond the histogram. A quantile beyond which less than
    /// one sample lies is the maximum by another name, and is not shown.
    pub fn value(&self, point: Point) -> Option<f64> {
        match point {
            Point::Quantile(share) if self.samples() as f64 * (1.0 - share) < 1.0 - 1e-9 => None,
            Point::Quantile(share) => self.quantile(share),
            Point::Max => self.max().map(|max| max as f64),
            Point::Mean => self.stated_mean().or(self.moments().map(|(mean, _)| mean)),
        }
    }

    /// The same with its interval, as if samples did not depend on those before.
    pub fn estimate(&self, point: Point) -> Option<Estimate> {
        let value = self.value(point)?;
        let bounds = match point {
            Point::Quantile(share) => self.quantile_bounds(share),
            Point::Max => Bounds::None(NoInterval::Maximum),
            Point::Mean => self.mean_bounds(value),
        };
        Some(Estimate { value, bounds })
    }

    /// The bounds of the mean, by the central limit theorem.
    fn mean_bounds(&self, mean: f64) -> Bounds {
        let variance = self.moments().map_or(0.0, |(_, variance)| variance);
        if self.stated_mean().is_some() {
            return Bounds::None(NoInterval::Stated);
        }
        let half_width = normal::two_sided(crate::LEVEL) * (variance / self.samples() as f64).sqrt();
        if self.samples() < FEWEST {
            return Bounds::None(NoInterval::TooFewSamples);
        }
        Bounds::new(mean - half_width, mean + half_width, crate::LEVEL)
    }
}

/// The fewest samples whose mean is taken as normal.
const FEWEST: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Histogram, Samples};

    #[test]
    fn names() {
        let names: Vec<String> = POINTS.iter().map(Point::to_string).collect();
        assert_eq!(names, ["p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "max", "mean"]);
        assert_eq!(serde_json::to_string(&Point::Quantile(0.999)).unwrap(), "\"p99.9\"");
    }

    #[test]
    fn a_quantile_needs_samples_beyond() {
        let counts: Histogram = (0..1000).map(|value| (value, 1)).collect();
        let found = Grouped::of([&Samples::from(counts)]);
        assert_eq!(found.value(Point::Quantile(0.999)), Some(999.0));
        assert_eq!(found.value(Point::Quantile(0.9999)), None);
        assert_eq!((found.value(Point::Max), found.value(Point::Mean)), (Some(999.0), Some(500.0)));
        let bounds = found.estimate(Point::Quantile(0.99)).unwrap().bounds;
        // Ranks 983 and 997.
        assert_eq!(bounds.interval().map(|interval| (interval.low, interval.high)), Some((982.0, 997.0)));
    }
}
