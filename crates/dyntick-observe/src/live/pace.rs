// SPDX-License-Identifier: GPL-2.0-only
//! The interval at which counts are taken in if nothing is read: short enough that the programs which run between two
//! readings have room in a CPU's table.

use dyntick_bpf::layout::PROGRAMS;
use std::time::Duration;

/// While few programs run: reading then takes 9 % of one CPU where 512 are measured (`docs/src/stat.md`).
const LONGEST: Duration = Duration::from_millis(500);
/// The interval at the begin.
const FIRST: Duration = Duration::from_millis(250);
/// While many programs run.
const SHORTEST: Duration = Duration::from_millis(50);
/// A table with this number of programs since the last reading has room for a burst.
const MANY: usize = PROGRAMS / 4;
const FEW: usize = MANY / 4;

/// The time from one reading to the next.
pub(super) struct Pace(Duration);

impl Pace {
    pub(super) fn new() -> Self {
        Self(FIRST)
    }

    pub(super) fn interval(&self) -> Duration {
        self.0
    }

    /// `programs`: how many ran since the last reading on the CPU where most did.
    pub(super) fn adapt(&mut self, programs: usize) {
        if programs > MANY {
            self.0 = (self.0 / 2).max(SHORTEST);
        } else if programs < FEW {
            self.0 = (self.0 * 2).min(LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_fast_while_many_programs_run_and_slow_again_after() {
        let mut pace = Pace::new();
        assert_eq!(pace.interval(), FIRST);
        for _ in 0..4 {
            pace.adapt(2);
        }
        assert_eq!(pace.interval(), LONGEST);
        pace.adapt(MANY);
        assert_eq!(pace.interval(), LONGEST, "a quarter of the table is no hurry");
        for _ in 0..10 {
            pace.adapt(MANY + 1);
        }
        assert_eq!(pace.interval(), SHORTEST);
        pace.adapt(FEW);
        assert_eq!(pace.interval(), SHORTEST, "between few and many it stays");
        pace.adapt(FEW - 1);
        assert_eq!(pace.interval(), SHORTEST * 2);
    }
}
