// SPDX-License-Identifier: GPL-2.0-only
//! The estimated time of runs, from those that have finished; pure.

use dyntick_lab::expected::Expected;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// The ratio of the real to the expected time of runs, from those that have finished.
#[derive(Default)]
pub struct Pace {
    took: Duration,
    expected: Duration,
}

/// The weight of an earlier run relative to the next one, since the load of the machine changes.
const REMEMBERED: f64 = 0.8;

impl Pace {
    /// Takes the real time of a run.
    pub fn learn(&mut self, expected: &Expected, took: Duration) {
        self.took = self.took.mul_f64(REMEMBERED) + took.saturating_sub(expected.fixed);
        self.expected = self.expected.mul_f64(REMEMBERED) + expected.work;
    }

    /// The estimated time of a run; `None` before one has finished, unless earlier ones were timed.
    pub fn of(&self, expected: &Expected) -> Option<Duration> {
        let factor = if self.expected.is_zero() {
            expected.timed.then_some(1.0)?
        } else {
            self.took.as_secs_f64() / self.expected.as_secs_f64()
        };
        Some(expected.fixed + expected.work.mul_f64(factor))
    }
}

/// The time until the last run ends. `running` are the remaining times of the present runs, `ahead` the times of the
/// others in their order; each starts when one before it has ended, `jobs` at a time.
pub fn over(running: &[Duration], ahead: &[Duration], jobs: usize) -> Duration {
    let mut ends: BinaryHeap<Reverse<Duration>> = running.iter().copied().map(Reverse).collect();
    let mut last = running.iter().copied().max().unwrap_or_default();
    for &time in ahead {
        let begin = if ends.len() < jobs.max(1) {
            Duration::ZERO
        } else {
            ends.pop().map_or(Duration::ZERO, |Reverse(end)| end)
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
    fn window_on_the_wall_clock_has_the_same_length_on_any_machine() {
        let mut pace = Pace::default();
        assert_eq!(pace.of(&expected(10, 20, false)), None, "nothing is known of this machine");
        assert_eq!(pace.of(&expected(10, 20, true)), Some(s(30)), "as the last time");
        pace.learn(&expected(10, 20, false), s(50));
        assert_eq!(pace.of(&expected(10, 0, false)), Some(s(30)), "three times as long");
        assert_eq!(pace.of(&expected(10, 100, true)), Some(s(130)));
    }
}
