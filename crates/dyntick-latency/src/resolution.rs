// SPDX-License-Identifier: GPL-2.0-only
//! The resolution of a clock, as reported and as seen.

use crate::Clock;
use crate::clock::ns;
use rustix::time::clock_getres;

/// How many readings are taken: a millisecond's worth on most machines.
const READINGS: usize = 50_000;

/// What is known of a clock's resolution, ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// As the kernel says.
    pub reported: u64,
    /// The smallest step between two readings that differ, so with the time that a reading takes;
    /// none where all were the same.
    pub measured: Option<u64>,
    /// All readings.
    pub readings: Vec<u64>,
}

/// Reads a clock again and again.
pub fn of(clock: Clock) -> Resolution {
    let mut readings = vec![0; READINGS];
    readings.iter_mut().for_each(|reading| *reading = clock.now());
    let steps = readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let measured = steps.filter(|step| *step > 0).min();
    Resolution { reported: ns(clock_getres(clock.id())), measured, readings }
}
