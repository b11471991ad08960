// SPDX-License-Identifier: GPL-2.0-only
//! Interruptions that took longer than a limit, one by one.

use dyntick_observe::live::Occurrence;

/// Those that took long in one measurement.
pub struct Longest {
    /// From which duration on, ns.
    pub over_ns: u64,
    /// When each began, ns since the measurement did, and what it was.
    pub each: Vec<(u64, Occurrence)>,
    /// How many more there were that the ring buffer had no room for.
    pub lost: u64,
}

impl Longest {
    /// Adds those of another run.
    pub(crate) fn add(&mut self, other: Longest) {
        self.each.extend(other.each);
        self.lost += other.lost;
    }
}
