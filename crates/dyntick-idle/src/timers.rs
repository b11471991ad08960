// SPDX-License-Identifier: GPL-2.0-only
//! The hrtimers that are armed, as far as they were seen to be.

use std::collections::HashMap;

/// A timer that expires later than this, ns after it is armed, counts on another clock than CLOCK_MONOTONIC,
/// whose time its expiry is not: 11 days.
const OTHER_CLOCK_NS: i64 = 1_000_000_000_000_000;

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

    /// The first expiry of this CPU's other timers, ns.
    pub fn others_of(&self, cpu: u32) -> Option<u64> {
        self.first(|armed| armed.cpu == cpu && !armed.is_tick)
    }

    fn first(&self, is_meant: impl Fn(&Armed) -> bool) -> Option<u64> {
        let meant = self.0.values().filter(|armed| is_meant(armed));
        meant.map(|armed| armed.expires_ns.max(0) as u64).min()
    }
}
