// SPDX-License-Identifier: GPL-2.0-only
//! The resolution of a clock, reported and measured.

use crate::Clock;
use crate::clock::ns;
use rustix::time::clock_getres;

/// The number of readings: about a millisecond's worth on most machines.
const READINGS: usize = 50_000;

/// The resolution of a clock, ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The resolution that the kernel reports.
    pub reported: u64,
    /// The smallest step between two different readings, which includes the time of a reading; `None` if all were the
    /// same.
    pub measured: Option<u64>,
    /// All readings.
    pub readings: Vec<u64>,
}

/// Reads a clock repeatedly.
pub fn of(clock: Clock) -> Resolution {
    let mut readings = vec![0; READINGS];
    readings.iter_mut().for_each(|reading| *reading = clock.now());
    let steps = readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let measured = steps.filter(|step| *step > 0).min();
    Resolution { reported: ns(clock_getres(clock.id())), measured, readings }
}
