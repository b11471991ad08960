// SPDX-License-Identifier: GPL-2.0-only
//! How long runs will take, by those that have ended; pure.

use dyntick_lab::expected::Expected;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// How much longer than expected runs take, by those that have ended.
#[derive(Default)]
pub struct Pace {
    took: Duration,
    expected: Duration,
}

/// How much less an earlier run tells than the one after it: what else the machine does changes.
const REMEMBERED: f64 = 0.8;

impl Pace {
    /// A run has taken so long.
    pub fn learn(&mut self, expected: &Expected, took: Duration) {
        self.took = self.took.mul_f64(REMEMBERED) + took.saturating_sub(expected.fixed);
        self.expected = self.expected.mul_f64(REMEMBERED) + expected.work;
    }

    /// How long a run will take; none before one has ended, unless earlier ones were timed.
    pub fn of(&self, expected: &Expected) -> Option<Duration> {
        let factor = match self.expected.is_zero() {
            true => expected.timed.then_some(1.0)?,
            false => self.took.as_secs_f64() / self.expected.as_secs_f64(),
        };
        Some(expected.fixed + expected.work.mul_f64(factor))
    }
}

/// When the last of them will be over: `running` is what is left of those that run now, `ahead` how long each of
/// the others will take, in their order; each begins when one before it has ended, `jobs` at a time.
pub fn over(running: &[Duration], ahead: &[Duration], jobs: usize) -> Duration {
    let mut ends: BinaryHeap<Reverse<Duration>> = running.iter().copied().map(Reverse).collect();
    let mut last = running.iter().copied().max().unwrap_or_default();
    for &time in ahead {
        let begin = match ends.len() < jobs.max(1) {
            true => Duration::ZERO,
            false => ends.pop().map_or(Duration::ZERO, |Reverse(end)| end),
        };
        last = last.max(begin + time);
        ends.push(Reverse(begin + time));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn expected(work: u64, fixed: u64, timed: bool) -> Expected {
        Expected { case: "c".into(), work: s(work), fixed: s(fixed), timed }
    }

    #[test]
    fn runs_go_in_waves() {
        assert_eq!(over(&[], &[], 2), s(0));
        assert_eq!(over(&[s(4)], &[], 2), s(4));
        assert_eq!(over(&[], &[s(10), s(10), s(10)], 1), s(30));
        assert_eq!(over(&[], &[s(10), s(10), s(10)], 2), s(20), "the third one alone");
        assert_eq!(over(&[s(3), s(9)], &[s(10), s(2)], 2), s(13));
        assert_eq!(over(&[s(3)], &[s(10), s(2)], 2), s(10), "one begins now");
    }

    #[test]
    fn a_window_on_the_wall_clock_is_as_long_on_any_machine() {
        let mut pace = Pace::default();
        assert_eq!(pace.of(&expected(10, 20, false)), None, "nothing is known of this machine");
        assert_eq!(pace.of(&expected(10, 20, true)), Some(s(30)), "as the last time");
        pace.learn(&expected(10, 20, false), s(50));
        assert_eq!(pace.of(&expected(10, 0, false)), Some(s(30)), "three times as long");
        assert_eq!(pace.of(&expected(10, 100, true)), Some(s(130)));
    }
}
