// SPDX-License-Identifier: GPL-2.0-only
//! The clock by which threads are seen.

use dyntick_model::NANOS_PER_SEC;
use rustix::thread::ClockId;

/// ns of CLOCK_MONOTONIC, which is also the trace clock.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NANOS_PER_SEC + now.tv_nsec as u64
}
