// SPDX-License-Identifier: GPL-2.0-only
//! Times.

use crate::Clock;
use dyntick_model::NANOS_PER_SEC;
use rustix::thread::ClockId;
use rustix::time::{Timespec, clock_gettime};

impl Clock {
    pub(crate) fn id(self) -> ClockId {
        match self {
            Clock::Monotonic => ClockId::Monotonic,
            Clock::Realtime => ClockId::Realtime,
        }
    }

    /// The time on this clock, ns.
    pub(crate) fn now(self) -> u64 {
        ns(clock_gettime(self.id()))
    }
}

/// The time on CLOCK_MONOTONIC, ns.
pub fn now_ns() -> u64 {
    Clock::Monotonic.now()
}

pub(crate) fn ns(time: Timespec) -> u64 {
    (time.tv_sec as u64).saturating_mul(NANOS_PER_SEC).saturating_add(time.tv_nsec as u64)
}

pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / NANOS_PER_SEC) as i64, tv_nsec: (ns % NANOS_PER_SEC) as _ }
}

/// The local time in the format of mail: `Sat, 21 Nov 2026 11:40:09 +0000`.
pub fn stamp() -> String {
    let seconds = clock_gettime(ClockId::Realtime).tv_sec;
    let mut text = [0u8; 64];
    // SAFETY: both functions write only into the structure and the buffer that are passed, within its length; the
    // format ends with a zero.
    let length = unsafe {
        let mut broken_down: libc::tm = std::mem::zeroed();
        libc::localtime_r(&seconds, &mut broken_down);
        let format = c"%a, %d %b %Y %T %z";
        libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &broken_down)
    };
    String::from_utf8_lossy(&text[..length]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_convert_both_ways() {
        for time in [0, 999_999_999, 1_000_000_000, 12_345_678_901] {
            assert_eq!(ns(timespec(time)), time);
        }
        assert!(now_ns() > 0);
        let stamp = stamp();
        assert!(stamp.len() == 31 && stamp.as_bytes()[3] == b',', "{stamp}");
    }
}
