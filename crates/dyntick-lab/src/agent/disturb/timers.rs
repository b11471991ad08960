// SPDX-License-Identifier: GPL-2.0-only
//! Disturbances by timers and by what the tick is kept for.

use super::Disturbance;
use super::stage::{Stage, checked};
use anyhow::Result;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(super) const ALL: &[Disturbance] = &[
    ("cpu-timer", cpu_timer),
    ("cpu-limit", cpu_limit),
    ("itimer-prof", itimer_prof),
    ("timerfd", timerfd),
    ("posix-timer", posix_timer),
    ("perf-frequency", perf_frequency),
    ("perf-period", perf_period),
];

/// How often timers expire that are meant to be felt: more often than a tick.
const OFTEN: Duration = Duration::from_micros(500);

/// Handles a signal by doing nothing: a timer whose signal is ignored is slowed down to ticks.
pub(super) fn catch(signal: i32) {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: a handler that does nothing.
    unsafe { libc::signal(signal, handler) };
}

/// A POSIX timer on the victim's CPU time, far off.
fn cpu_timer(stage: &Stage) -> Result<()> {
    let _victim =
        stage.victim_that(|| drop(arm(libc::CLOCK_THREAD_CPUTIME_ID, Duration::from_secs(1000), None)))?;
    stage.wait();
    Ok(())
}

/// A timer on the monotonic clock that expires again and again while the victim computes.
fn posix_timer(stage: &Stage) -> Result<()> {
    let _victim = stage.victim_that(|| {
        catch(libc::SIGALRM);
        drop(arm(libc::CLOCK_MONOTONIC, OFTEN, Some(OFTEN)));
    })?;
    stage.wait();
    Ok(())
}

fn arm(clock: libc::clockid_t, first: Duration, interval: Option<Duration>) -> Result<()> {
    let time = |time: Duration| libc::timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: time.subsec_nanos().into(),
    };
    let value = libc::itimerspec { it_value: time(first), it_interval: time(interval.unwrap_or_default()) };
    let mut timer: libc::timer_t = std::ptr::null_mut();
    // SAFETY: the places live across the calls; no event means SIGALRM.
    unsafe {
        checked("timer_create", libc::timer_create(clock, std::ptr::null_mut(), &mut timer).into())?;
        checked("timer_settime", libc::timer_settime(timer, 0, &value, std::ptr::null_mut()).into())?;
    }
    Ok(())
}

/// A limit on CPU time (ulimit -t), far off.
fn cpu_limit(stage: &Stage) -> Result<()> {
    let limit = rustix::process::Rlimit { current: Some(1000), maximum: Some(2000) };
    rustix::process::setrlimit(rustix::process::Resource::Cpu, limit)?;
    let _victim = stage.victim()?;
    stage.wait();
    Ok(())
}

/// An interval timer on CPU time that the victim sets.
fn itimer_prof(stage: &Stage) -> Result<()> {
    let _victim = stage.victim_that(|| {
        let time = libc::timeval { tv_sec: 1, tv_usec: 0 };
        let value = libc::itimerval { it_interval: time, it_value: time };
        catch(libc::SIGPROF);
        // SAFETY: the place lives across the call.
        unsafe { libc::syscall(libc::SYS_setitimer, libc::ITIMER_PROF, &raw const value, 0) };
    })?;
    stage.wait();
    Ok(())
}

/// A timer that belongs to a file, and a task on the CPU that waits for it.
fn timerfd(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let _waiter = stage.task("waiter", |over| {
        let often = libc::timespec { tv_sec: 0, tv_nsec: OFTEN.subsec_nanos().into() };
        let value = libc::itimerspec { it_interval: often, it_value: often };
        let mut expired = [0u8; 8];
        // SAFETY: the places live across the calls.
        unsafe {
            let timer = libc::timerfd_create(libc::CLOCK_MONOTONIC, 0);
            libc::timerfd_settime(timer, 0, &value, std::ptr::null_mut());
            while !over.load(Ordering::Relaxed) && libc::read(timer, expired.as_mut_ptr().cast(), 8) == 8 {}
        }
    })?;
    stage.wait();
    Ok(())
}

/// `struct perf_event_attr`, its first version (include/uapi/linux/perf_event.h).
#[repr(C)]
#[derive(Default)]
struct PerfEventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const CONTEXT_SWITCHES: u64 = 3;
/// The bit `freq` of the flags.
const FREQUENCY: u64 = 1 << 10;

/// An event with a sampling frequency on this CPU, of a kind that hardly occurs: only its adjustment
/// in the tick is felt.
fn perf_frequency(stage: &Stage) -> Result<()> {
    perf(stage, CONTEXT_SWITCHES, 1000, FREQUENCY)
}

/// An event that samples this CPU every millisecond.
fn perf_period(stage: &Stage) -> Result<()> {
    perf(stage, CPU_CLOCK, 1_000_000, 0)
}

fn perf(stage: &Stage, config: u64, sample: u64, flags: u64) -> Result<()> {
    let size = size_of::<PerfEventAttr>() as u32;
    let attr = PerfEventAttr { kind: SOFTWARE, size, config, sample, flags, ..PerfEventAttr::default() };
    let _victim = stage.victim()?;
    // SAFETY: the structure lives across the call; all processes, this CPU, no group, no flags.
    let event = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, -1, stage.cpu, -1, 0) };
    checked("perf_event_open", event)?;
    stage.wait();
    // SAFETY: a file of our own.
    unsafe { libc::close(event as i32) };
    Ok(())
}
