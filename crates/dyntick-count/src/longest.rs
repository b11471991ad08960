// SPDX-License-Identifier: GPL-2.0-only
//! Interruptions that took longer than a limit, one by one.

use dyntick_observe::live::Occurrence;

/// The longest interruptions of one measurement.
pub struct Longest {
    /// The least duration, ns.
    pub over_ns: u64,
    /// When each began, ns since the measurement did, and what it was.
    pub each: Vec<(u64, Occurrence)>,
    /// The number of further ones that the ring buffer had no room for.
    pub lost: u64,
}

impl Longest {
    /// Adds those of another run.
    pub(crate) fn add(&mut self, other: Longest) {
        self.each.extend(other.each);
        self.lost += other.lost;
    }
}
