// SPDX-License-Identifier: GPL-2.0-only
//! The hrtimers that are armed, as far as they were seen to be.

use std::collections::HashMap;

/// A timer that expires later than this, ns after it is armed, counts on another clock than CLOCK_MONOTONIC,
/// whose time its expiry is not: 11 days.
const OTHER_CLOCK_NS: i64 = 1_000_000_000_000_000;

/// A CPU that goes to sleep has no timer that was due so long ago, ns.
const OVERDUE_NS: i64 = 1_000_000;

/// The armed hrtimers of all CPUs.
#[derive(Default)]
pub(crate) struct Timers(HashMap<u64, Armed>);

struct Armed {
    cpu: u32,
    expires_ns: i64,
    is_tick: bool,
}

impl Timers {
    /// Notes a timer that this CPU arms. It may be queued on another one, which no event shows.
    pub fn arm(&mut self, timer: u64, cpu: u32, expires_ns: i64, now_ns: u64, is_tick: bool) {
        match expires_ns.checked_sub(now_ns as i64) {
            Some(ahead) if ahead < OTHER_CLOCK_NS => self.0.insert(timer, Armed { cpu, expires_ns, is_tick }),
            _ => self.0.remove(&timer),
        };
    }

    /// It is cancelled or expires; when it was due, ns.
    pub fn disarm(&mut self, timer: u64) -> Option<u64> {
        self.0.remove(&timer).map(|armed| armed.expires_ns.max(0) as u64)
    }

    /// The first expiry of this CPU's tick, ns.
    pub fn tick_of(&self, cpu: u32) -> Option<u64> {
        self.first(|armed| armed.cpu == cpu && armed.is_tick)
    }

    /// The first expiry of this CPU's other timers, ns. One that is long overdue was cancelled by what the trace does
    /// not show.
    pub fn others_of(&self, cpu: u32, now_ns: u64) -> Option<u64> {
        let is_pending = |armed: &Armed| armed.expires_ns.saturating_add(OVERDUE_NS) > now_ns as i64;
        self.first(|armed| armed.cpu == cpu && !armed.is_tick && is_pending(armed))
    }

    fn first(&self, is_meant: impl Fn(&Armed) -> bool) -> Option<u64> {
        let meant = self.0.values().filter(|armed| is_meant(armed));
        meant.map(|armed| armed.expires_ns.max(0) as u64).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timer_that_is_long_overdue_is_not_pending() {
        let mut timers = Timers::default();
        timers.arm(1, 0, 5_000_000, 1_000_000, false);
        timers.arm(2, 0, 90_000_000, 1_000_000, false);
        assert_eq!(timers.others_of(0, 5_100_000), Some(5_000_000), "it may be about to expire");
        assert_eq!(timers.others_of(0, 7_000_000), Some(90_000_000));
    }
}
