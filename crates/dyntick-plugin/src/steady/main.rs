// SPDX-License-Identifier: GPL-2.0-only
//! A library that is loaded before QEMU (`LD_PRELOAD`) and makes virtual time independent of how the
//! host schedules QEMU's threads.
//!
//! In virtual time one thread of QEMU executes all CPUs. Whenever a timer expires it also wakes QEMU's
//! main thread (QEMU 10.0, `accel/tcg/tcg-accel-ops-icount.c: icount_handle_deadline`, which notifies
//! every list of timers), which then looks at the timers and at whether all CPUs are idle by itself.
//! Mostly it comes too early to find anything. Where the host lets it wait, it comes between two turns
//! of the CPUs, or while one of them goes to sleep, and the guest's time is another from there on.
//!
//! So here the main thread is let out of its poll only while the CPUs' thread itself waits, which is
//! when all CPUs are idle and the main thread has to move time forward; or when something other than
//! QEMU's own notifications is ready (a signal, a terminal), or QEMU is about to end.

mod place;

use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::SeqCst};

/// `struct pollfd`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Poll {
    fd: c_int,
    events: i16,
    revents: i16,
}

/// `struct timespec`.
#[repr(C)]
pub struct Time {
    seconds: i64,
    nanoseconds: i64,
}

const POLLIN: i16 = 1;
const EFD_CLOEXEC_NONBLOCK: c_int = 0o2000000 | 0o4000;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    fn eventfd(initial: u32, flags: c_int) -> c_int;
    fn read(fd: c_int, bytes: *mut c_void, count: usize) -> isize;
    fn write(fd: c_int, bytes: *const c_void, count: usize) -> isize;
    fn gettid() -> c_int;
}

type Condition = *mut c_void;
type PollFunction = unsafe extern "C" fn(*mut Poll, c_ulong, *const Time, *const c_void) -> c_int;
type Wait = unsafe extern "C" fn(Condition, *mut c_void) -> c_int;
type Wake = unsafe extern "C" fn(Condition) -> c_int;
type Ask = unsafe extern "C" fn() -> c_int;
type Locked = unsafe extern "C" fn() -> bool;

/// The functions that those of the same names here wrap, and QEMU's own state.
struct Real {
    ppoll: PollFunction,
    wait: Wait,
    broadcast: Wake,
    signal: Wake,
    /// True if this thread has QEMU's big lock (`bql_locked`).
    locked: Locked,
    /// The reason for QEMU to end or to reset, 0 for none.
    ends: [Ask; 2],
    /// Written when the CPUs' thread begins to wait.
    idle: c_int,
}

/// True if the CPUs' thread waits, or is not there yet.
static IDLE: AtomicBool = AtomicBool::new(true);
/// The condition that it waits for.
static AWAITED: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The symbol `name` of QEMU itself or of the C library, never the one here.
fn symbol(name: &CStr, version: Option<&CStr>) -> *mut c_void {
    const NEXT: *mut c_void = -1isize as *mut c_void;
    const DEFAULT: *mut c_void = std::ptr::null_mut();
    // SAFETY: strings that end, and handles that glibc defines.
    let found = unsafe {
        match version {
            Some(version) => dlvsym(NEXT, name.as_ptr(), version.as_ptr()),
            None => dlsym(DEFAULT, name.as_ptr()),
        }
    };
    if found.is_null() {
        // In virtual time nothing may depend on the host, so a QEMU of which this cannot be had is not run.
        eprintln!("this QEMU cannot run deterministically: it has no symbol {}", name.to_string_lossy());
        std::process::exit(1);
    }
    found
}

fn real() -> &'static Real {
    static REAL: OnceLock<Real> = OnceLock::new();
    // SAFETY: the functions have these types in glibc 2.4 and in QEMU 10.0 (`include/qemu/main-loop.h`,
    // `include/system/runstate.h`).
    REAL.get_or_init(|| unsafe {
        use std::mem::transmute;
        let condition = Some(c"GLIBC_2.3.2");
        Real {
            ppoll: transmute::<*mut c_void, PollFunction>(symbol(c"ppoll", Some(c"GLIBC_2.4"))),
            wait: transmute::<*mut c_void, Wait>(symbol(c"pthread_cond_wait", condition)),
            broadcast: transmute::<*mut c_void, Wake>(symbol(c"pthread_cond_broadcast", condition)),
            signal: transmute::<*mut c_void, Wake>(symbol(c"pthread_cond_signal", condition)),
            locked: transmute::<*mut c_void, Locked>(symbol(c"bql_locked", None)),
            ends: [c"qemu_shutdown_requested_get", c"qemu_reset_requested_get"]
                .map(|name| transmute::<*mut c_void, Ask>(symbol(name, None))),
            idle: eventfd(0, EFD_CLOEXEC_NONBLOCK),
        }
    })
}

fn in_main_thread() -> bool {
    // SAFETY: no arguments, no errors.
    unsafe { gettid() == std::process::id() as c_int }
}

/// The CPUs' thread waits for one thing only, with the big lock, and is the only one to do so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_wait(condition: Condition, mutex: *mut c_void) -> c_int {
    let real = real();
    // SAFETY: QEMU's own arguments are passed on.
    unsafe {
        if in_main_thread() || !(real.locked)() {
            return (real.wait)(condition, mutex);
        }
        AWAITED.store(condition, SeqCst);
        IDLE.store(true, SeqCst);
        write(real.idle, (&1u64 as *const u64).cast(), 8);
        let is_to_gather = place::is_to_gather();
        let result = (real.wait)(condition, mutex);
        if is_to_gather {
            place::gather();
        }
        IDLE.store(false, SeqCst);
        result
    }
}

/// Ends the idleness of the CPUs' thread if this wakes it: from here on the main thread stays out of its way,
/// whenever the host lets that thread run.
fn wakes(condition: Condition) {
    if AWAITED.load(SeqCst) == condition {
        IDLE.store(false, SeqCst);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_broadcast(condition: Condition) -> c_int {
    wakes(condition);
    // SAFETY: QEMU's own argument.
    unsafe { (real().broadcast)(condition) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_signal(condition: Condition) -> c_int {
    wakes(condition);
    // SAFETY: QEMU's own argument.
    unsafe { (real().signal)(condition) }
}

/// The function in which QEMU's main loop waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    polls: *mut Poll,
    count: c_ulong,
    timeout: *const Time,
    mask: *const c_void,
) -> c_int {
    // SAFETY: QEMU's own arguments: `count` structures at `polls`.
    unsafe {
        // With the big lock held it is no main loop, but QEMU that ends and waits for its devices.
        if in_main_thread() && count > 0 && !(real().locked)() {
            wait_for_turn(std::slice::from_raw_parts(polls, count as usize));
        }
        (real().ppoll)(polls, count, timeout, mask)
    }
}

fn has_turn() -> bool {
    // SAFETY: two functions that read a variable.
    IDLE.load(SeqCst) || real().ends.iter().any(|ask| unsafe { ask() } != 0)
}

/// Returns when the CPUs' thread waits, when something outside QEMU is ready, or when QEMU ends.
fn wait_for_turn(polls: &[Poll]) {
    /// The interval at which it is checked if QEMU is to end, which nothing else shows.
    const LOOK: Time = Time { seconds: 0, nanoseconds: 5_000_000 };
    let real = real();
    let mut outside: Vec<Poll> = Vec::new();
    while !has_turn() {
        if outside.is_empty() {
            outside.push(Poll { fd: real.idle, events: POLLIN, revents: 0 });
            outside.extend(polls.iter().filter(|poll| !is_notification(poll.fd)));
        }
        // SAFETY: the vector's own structures; the event is eight bytes.
        unsafe {
            let ready = (real.ppoll)(outside.as_mut_ptr(), outside.len() as c_ulong, &LOOK, std::ptr::null());
            let mut events = 0u64;
            read(real.idle, (&mut events as *mut u64).cast(), 8);
            if ready == 0 {
                place::scatter();
            }
        }
        if outside[1..].iter().any(|poll| poll.revents != 0) {
            return;
        }
    }
}

/// Returns true if it is QEMU's own event, by which its threads notify each other.
fn is_notification(fd: c_int) -> bool {
    std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok_and(|to| to.as_os_str() == "anon_inode:[eventfd]")
}
