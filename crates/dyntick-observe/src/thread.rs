// SPDX-License-Identifier: GPL-2.0-only
//! Threads that observe: their clock, and their files.

use dyntick_model::NANOS_PER_SEC;
use rustix::thread::{ClockId, UnshareFlags, unshare_unsafe};

/// ns of CLOCK_MONOTONIC, which is also the trace clock.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NANOS_PER_SEC + now.tv_nsec as u64
}

/// From now on the files that this thread opens are its alone. A command that is started would close its copy of each,
/// on the CPU that it is to run on, and closing a trace buffer interrupts that CPU to wake those that wait
/// (`tracing_buffers_flush` in `kernel/trace/trace.c`).
///
/// # Safety
/// Files that other threads open from now on must not be used in this one, nor those of this one there.
///
/// # Errors
/// Where the kernel refuses it.
pub unsafe fn own_files() -> std::io::Result<()> {
    // SAFETY: as the caller's.
    unsafe { unshare_unsafe(UnshareFlags::FILES) }.map_err(Into::into)
}
