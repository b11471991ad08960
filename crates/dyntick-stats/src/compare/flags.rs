// SPDX-License-Identifier: GPL-2.0-only
//! The doubts about a figure, as values.

use crate::drift::{Trend, trend};
use crate::outliers::{Outlier, outliers, spread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reason to doubt a figure. Sides are numbered: 0 is the first, 1 the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// The values of a side rise or fall while its runs go on.
    Drift {
        /// The side.
        side: usize,
        /// The strength; its p value is adjusted for the number of trends that were tested.
        trend: Trend,
    },
    /// A run is far from the others of its side. It is not left out.
    Outlier {
        /// The side.
        side: usize,
        /// The run, and its distance.
        outlier: Outlier,
    },
    /// The runs of one side spread further than those of the other, beyond chance: the interval of the shift takes it
    /// that both are distributed alike. It covers 92 to 95 % then instead of 95 % with as many runs of each, less with
    /// unequal numbers.
    SpreadsDiffer {
        /// The spread of the second side divided by that of the first.
        ratio: f64,
    },
    /// Values that are no numbers, or too large for one, were left out.
    NotNumbers {
        /// The side.
        side: usize,
        /// The number of values.
        count: usize,
    },
    /// A side has one run: what is shown holds for the samples of these runs, and not for others like them.
    OneRun,
    /// With this number of figures compared, so few runs cannot show a difference of any size.
    TooFewForSoMany {
        /// The number of runs of each side that could.
        needed: usize,
    },
}

impl Flag {
    /// The p value of a trend.
    pub(super) fn drift(&self) -> Option<f64> {
        match self {
            Self::Drift { trend, .. } => Some(trend.p),
            _ => None,
        }
    }
}

/// The largest number of outliers reported for a side: with more of them the values would not be outliers.
const MOST: usize = 20;

/// The doubts about the runs of two sides. All trends are returned: the number of trends decides which of them are
/// shown.
pub(super) fn of_runs(sides: [&[f64]; 2]) -> Vec<Flag> {
    let mut flags = Vec::new();
    for (side, runs) in sides.into_iter().enumerate() {
        flags.extend(trend(runs).map(|trend| Flag::Drift { side, trend }));
        let far = outliers(runs).into_iter().take(MOST);
        flags.extend(far.map(|outlier| Flag::Outlier { side, outlier }));
    }
    flags.extend(spreads(sides));
    flags
}

/// Fewer runs than these do not show their spread.
const FEWEST: usize = 5;

fn spreads(sides: [&[f64]; 2]) -> Option<Flag> {
    let [a, b] = [spread(sides[0])?, spread(sides[1])?];
    let few = sides[0].len().min(sides[1].len());
    let ratio = b / a;
    (few >= FEWEST && a > 0.0 && b > 0.0 && ratio.max(1.0 / ratio) > limit(few))
        .then_some(Flag::SpreadsDiffer { ratio })
}

/// The ratio of spreads that of normal runs with equal spread at most 5 % exceed, for this number of runs of each side
/// (`tests/coverage/` repeats it); at least 3, from which on it matters.
fn limit(runs: usize) -> f64 {
    const FEW: [f64; 6] = [7.6, 4.7, 4.6, 3.7, 3.6, 3.1];
    FEW.get(runs - FEWEST).copied().unwrap_or(3.0)
}
