// SPDX-License-Identifier: GPL-2.0-only
//! A thread that takes a CPU of the host away from everybody else.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Takes CPU `cpu` for 600 µs every 8 ms, ahead of every other thread, until `end` is set. Returns true if this user
/// may do that.
pub fn hog(cpu: usize, end: &AtomicBool) -> bool {
    // SAFETY: system calls on this thread with structures that live across them.
    let may = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::prctl(libc::PR_SET_NAME, c"the-hog".as_ptr());
        libc::sched_setaffinity(0, size_of_val(&set), &set) == 0
            && libc::sched_setscheduler(0, libc::SCHED_FIFO, &libc::sched_param { sched_priority: 99 }) == 0
    };
    while may && !end.load(Relaxed) {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_micros(600) {}
        std::thread::sleep(Duration::from_micros(7400));
    }
    may
}
