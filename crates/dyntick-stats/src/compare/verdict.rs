// SPDX-License-Identifier: GPL-2.0-only
//! Verdicts, and the rules by which they are given.

use crate::interval::{Bounds, Estimate, Interval, LEVEL, NoInterval};
use crate::power::Precision;
use crate::{Better, shift};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The greatest adjusted p value with which a difference is shown.
pub const ALPHA: f64 = 1.0 - LEVEL;

/// The verdict on a figure of two sides. The rules, in this order:
///
/// 1. The runs of each side are equal, in virtual time: [`Verdict::TheChange`].
/// 2. The figure grows with the time that was watched, and the sides were watched for unequal times:
///    [`Verdict::Unequal`].
/// 3. The interval of the shift lies within the margin, `same_within` percent of the first side's value (the ends
///    included): [`Verdict::SameWithin`]. That is two one-sided tests (Schuirmann 1987), each of 2.5 %; it is
///    reported also if there is a difference beyond chance that does not matter. It is not adjusted for the
///    number of comparisons. The margin of a share in percent is that of the share or of its complement, whichever is
///    smaller. If the ranges within which both figures are known
///    meet, no margin is smaller than the step of their last digit.
/// 4. The adjusted p value is at most [`ALPHA`] and the interval does not contain zero: [`Verdict::Better`] or
///    [`Verdict::Worse`] by the sign of the shift, [`Verdict::Different`] if the better direction is unknown. If a side
///    has one run, [`Verdict::RunsDiffer`]: how much runs of that side differ is unknown.
/// 5. Anything else: [`Verdict::Inconclusive`].
///
/// If the interval would have no width ([`NoInterval::NoSpread`]), the shift is used for both of its ends. If there is
/// no interval for another reason, rules 3 and 4 do not apply.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The side is better than the first.
    Better,
    /// The side is worse.
    Worse,
    /// The sides differ, and the better direction is unknown.
    Different,
    /// The runs differ, of which a side has one: of the sides that says nothing.
    RunsDiffer,
    /// The sides were watched for unequal times, with which the figure grows: not judged.
    Unequal,
    /// A difference, if there is any, is smaller than what matters, or than the step of the figures' last digit.
    SameWithin {
        /// The margin, in percent of the first side's value.
        percent: f64,
    },
    /// Neither can be said.
    Inconclusive {
        /// The least number of further runs of each side that may decide; `None` if it cannot be estimated or is not
        /// practical.
        more_runs: Option<u64>,
    },
    /// The difference is exact, and due to the change.
    TheChange {
        /// The excess of the side over the first; 0 if the change has no effect.
        difference: f64,
        /// The direction.
        change: Change,
    },
}

/// The direction of an exact difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// There is none.
    None,
    /// The side is better.
    Better,
    /// The side is worse.
    Worse,
    /// The sides differ, and the better direction is unknown.
    Different,
}

impl Change {
    /// Judges a difference.
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

/// The evidence for a verdict.
pub(super) struct Evidence {
    pub shift: Estimate,
    /// The margin within which a difference does not matter, in the figure's unit.
    pub margin: f64,
    /// The same in percent.
    pub percent: f64,
    /// True if a side has one run.
    pub one_run: bool,
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
            _ if self.one_run => Verdict::RunsDiffer,
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

    /// The number of runs of each side that could show a difference, if there are too few to show one of any size.
    pub fn out_of_reach(&self) -> Option<usize> {
        let [m, n] = self.runs;
        (shift::least(m, n) > self.each).then(|| shift::fewest(self.each))
    }
}
