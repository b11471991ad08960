// SPDX-License-Identifier: GPL-2.0-only
//! Both threads on one CPU of the host, as long as they alternate.
//!
//! Where virtual time goes from idle moment to idle moment, one thread wakes the other thousands of
//! times a second and then sleeps. The host's scheduler wakes each on an idle CPU, which costs more than the
//! turn itself. On one CPU a turn is a switch. Every now and then the scheduler may choose that CPU
//! anew, and where the CPUs' thread works for long it chooses for both threads as it likes.

use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn sched_getaffinity(thread: c_int, size: usize, set: *mut c_void) -> c_int;
    fn sched_setaffinity(thread: c_int, size: usize, set: *const c_void) -> c_int;
    fn sched_getcpu() -> c_int;
    fn gettid() -> c_int;
}

/// The time for which both stay on their CPU.
const STAY: Duration = Duration::from_millis(100);

/// A set of CPUs, as large as glibc's `cpu_set_t`.
type Set = [u64; 16];

struct Place {
    /// The CPUs on which they may run.
    all: Set,
    /// The CPUs' thread.
    thread: c_int,
    since: Instant,
}

/// None if the host chooses.
static PLACE: Mutex<Option<Place>> = Mutex::new(None);

/// Called before the CPUs' thread waits. Whether [`gather`] is to be called after that.
pub fn is_to_gather() -> bool {
    if PLACE.lock().is_ok_and(|place| place.as_ref().is_some_and(|place| place.since.elapsed() < STAY)) {
        return false;
    }
    scatter();
    true
}

/// Keeps both threads where the calling one, the CPUs' thread, was woken.
pub fn gather() {
    let mut all: Set = [0; 16];
    // SAFETY: a set of that size; the other two take no arguments.
    let (known, cpu, thread) = unsafe {
        (sched_getaffinity(0, size_of::<Set>(), all.as_mut_ptr().cast()) == 0, sched_getcpu(), gettid())
    };
    let Ok(mut place) = PLACE.lock() else { return };
    let one = usize::try_from(cpu).ok().filter(|cpu| known && *cpu < 1024).map(|cpu| {
        let mut one: Set = [0; 16];
        one[cpu / 64] = 1 << (cpu % 64);
        one
    });
    if let Some(one) = one {
        set(thread, &one);
        *place = Some(Place { all, thread, since: Instant::now() });
    }
}

/// Lets the host choose again.
pub fn scatter() {
    if let Some(place) = PLACE.lock().ok().and_then(|mut place| place.take()) {
        set(place.thread, &place.all);
    }
}

/// Pins the main thread and this one. If the host refuses, they run where they ran.
fn set(thread: c_int, cpus: &Set) {
    for thread in [std::process::id() as c_int, thread] {
        // SAFETY: a set of that size.
        unsafe { sched_setaffinity(thread, size_of::<Set>(), cpus.as_ptr().cast()) };
    }
}
