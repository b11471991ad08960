// SPDX-License-Identifier: GPL-2.0-only
//! Verdicts, and the rules by which they are given.

use crate::interval::{Bounds, Estimate, Interval, LEVEL, NoInterval};
use crate::power::Precision;
use crate::{Better, shift};
use schemars::JsonSchema;
use serde::Serialize;

/// The greatest adjusted p value with which a difference is shown.
pub const ALPHA: f64 = 1.0 - LEVEL;

/// What follows from a figure of two sides. The rules, in this order:
///
/// 1. The runs of each side are equal, in virtual time: [`Verdict::TheChange`].
/// 2. The interval of the shift lies within the margin, `same_within` percent of the first side's value (the ends
///    included): [`Verdict::SameWithin`]. That is two one-sided tests (Schuirmann 1987), each of 2.5 %; it is
///    reported also where there is a difference beyond chance, for one that does not matter. Not adjusted for the
///    number of comparisons.
/// 3. The adjusted p value is at most [`ALPHA`] and the interval does not have zero: [`Verdict::Better`] or
///    [`Verdict::Worse`] by the sign of the shift, [`Verdict::Different`] where nobody said what is better.
/// 4. Anything else: [`Verdict::Inconclusive`].
///
/// Where the interval would have no width ([`NoInterval::NoSpread`]) the shift stands for both of its ends. Where there
/// is none for another reason, rules 2 and 3 are not met.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The side is better than the first.
    Better,
    /// It is worse.
    Worse,
    /// It differs, and nobody said in which direction it is better.
    Different,
    /// A difference, if there is any, is smaller than what matters.
    SameWithin {
        /// The margin, in percent of the first side's value.
        percent: f64,
    },
    /// Neither can be said.
    Inconclusive {
        /// About how many more runs of each side would decide, with a probability of four fifths; none where
        /// that cannot be known, or where it is more than anybody would do.
        more_runs: Option<u64>,
    },
    /// Nothing is uncertain: the difference is what the change does.
    TheChange {
        /// By how much the side exceeds the first; 0 where the change does nothing.
        difference: f64,
        /// What that means.
        change: Change,
    },
}

/// What a difference that is certain means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// There is none.
    None,
    /// The side is better.
    Better,
    /// It is worse.
    Worse,
    /// It differs, and nobody said in which direction it is better.
    Different,
}

impl Change {
    /// Of a difference.
    pub(super) fn of(difference: f64, better: Better) -> Self {
        match better {
            _ if difference == 0.0 => Self::None,
            Better::Unknown => Self::Different,
            Better::Lower if difference < 0.0 => Self::Better,
            Better::Higher if difference > 0.0 => Self::Better,
            Better::Lower | Better::Higher => Self::Worse,
        }
    }
}

/// What a verdict is given on.
pub(super) struct Evidence {
    pub shift: Estimate,
    /// What does not matter, in the figure's unit.
    pub margin: f64,
    /// The same in percent.
    pub percent: f64,
    pub adjusted_p: Option<f64>,
    /// The p value that surely is enough, whatever the others are.
    pub each: f64,
    /// Runs of each side.
    pub runs: [usize; 2],
    pub precision: Option<Precision>,
}

impl Evidence {
    pub fn verdict(&self, better: Better) -> Verdict {
        let Some(interval) = self.interval() else { return self.inconclusive() };
        if interval.within(self.margin) {
            return Verdict::SameWithin { percent: self.percent };
        }
        if interval.covers(0.0) || self.adjusted_p.is_none_or(|p| p > ALPHA) {
            return self.inconclusive();
        }
        match Change::of(self.shift.value, better) {
            Change::Better => Verdict::Better,
            Change::Worse => Verdict::Worse,
            Change::Different | Change::None => Verdict::Different,
        }
    }

    fn interval(&self) -> Option<Interval> {
        match self.shift.bounds {
            Bounds::Interval(interval) => Some(interval),
            Bounds::None(NoInterval::NoSpread) => {
                Some(Interval { low: self.shift.value, high: self.shift.value, level: LEVEL })
            }
            Bounds::None(_) => None,
        }
    }

    fn inconclusive(&self) -> Verdict {
        let by_spread = self.precision.map(|known| known.more_runs(self.shift.value, self.margin, self.each));
        // Without any spread to go by, at least as many as can show anything.
        let few = self.runs[0].min(self.runs[1]);
        let more = by_spread.unwrap_or_else(|| shift::fewest(self.each).saturating_sub(few).max(1) as u64);
        Verdict::Inconclusive { more_runs: Some(more).filter(|more| *more < crate::MOST) }
    }

    /// How many runs of each side could have shown a difference, where so few cannot, be it ever so large.
    pub fn out_of_reach(&self) -> Option<usize> {
        let [m, n] = self.runs;
        (shift::least(m, n) > self.each).then(|| shift::fewest(self.each))
    }
}
