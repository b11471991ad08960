// SPDX-License-Identifier: GPL-2.0-only
//! Where threads run, and the clock by which they are seen.

use dyntick_model::{CpuList, NANOS_PER_SEC};
use rustix::thread::{ClockId, CpuSet, Pid, sched_setaffinity};

/// ns of CLOCK_MONOTONIC, which is also the trace clock.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NANOS_PER_SEC + now.tv_nsec as u64
}

/// Lets a thread run on these CPUs only: the one of this number, or this one. It only does a system call, so a
/// child may call it between fork and exec.
pub fn run_on(thread: Option<i32>, cpus: &CpuList) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().filter(|cpu| (*cpu as usize) < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu as usize));
    Ok(sched_setaffinity(thread.and_then(Pid::from_raw), &set)?)
}
