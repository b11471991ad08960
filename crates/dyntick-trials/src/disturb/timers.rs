// SPDX-License-Identifier: GPL-2.0-only
//! Disturbances by timers and by what the tick is kept for.

use super::Disturbance;
use super::stage::{Stage, checked};
use anyhow::Result;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(super) const ALL: &[Disturbance] = &[
    ("cpu-timer", cpu_timer),
    ("cpu-limit", cpu_limit),
    ("itimer-prof", itimer_prof),
    ("timerfd", timerfd),
    ("posix-timer", posix_timer),
    ("itimer-real", itimer_real),
    ("unstable-clock", unstable_clock),
    ("perf-frequency", perf_frequency),
    ("perf-period", perf_period),
];

/// The period of timers that must be noticed: shorter than a tick's.
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
    alarms(stage, || drop(arm(libc::CLOCK_MONOTONIC, OFTEN, Some(OFTEN))))
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
        catch(libc::SIGPROF);
        set_itimer(libc::ITIMER_PROF, libc::timeval { tv_sec: 1, tv_usec: 0 });
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

/// An interval timer of real time that the victim sets, and whose signals it takes.
fn itimer_real(stage: &Stage) -> Result<()> {
    let often = libc::timeval { tv_sec: 0, tv_usec: OFTEN.as_micros() as i64 };
    alarms(stage, move || set_itimer(libc::ITIMER_REAL, often))
}

/// A victim that sets a timer and takes its signals. No other thread takes one: the kernel sets the timer again where
/// the signal is taken (6.12 `kernel/time/posix-timers.c: posixtimer_rearm`, `kernel/signal.c: dequeue_signal`).
fn alarms(stage: &Stage, set: impl FnOnce() + Send + 'static) -> Result<()> {
    take_alarms(libc::SIG_BLOCK);
    let _victim = stage.victim_that(|| {
        catch(libc::SIGALRM);
        take_alarms(libc::SIG_UNBLOCK);
        set();
    })?;
    stage.wait();
    Ok(())
}

/// Blocks or unblocks SIGALRM for this thread.
fn take_alarms(how: i32) {
    // SAFETY: the set lives across the calls.
    unsafe {
        let mut alarms = std::mem::zeroed();
        libc::sigemptyset(&mut alarms);
        libc::sigaddset(&mut alarms, libc::SIGALRM);
        libc::pthread_sigmask(how, &alarms, std::ptr::null_mut());
    }
}

fn set_itimer(which: i32, every: libc::timeval) {
    let value = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: the place lives across the call.
    unsafe { libc::syscall(libc::SYS_setitimer, which, &raw const value, 0) };
}

/// The victim alone, on a kernel that has found its clock to be unstable: so it does a few seconds after boot
/// with `tsc=noirqtime tsc_early_khz=` and a number that is 3 % wrong. One that is set to trust it never does.
/// Until then its ticks are those of a CPU without high resolution timers; the victim's are to be more.
fn unstable_clock(stage: &Stage) -> Result<()> {
    const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    for _ in 0..100 {
        if !std::fs::read_to_string(CURRENT)?.starts_with("tsc") {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let _victim = stage.victim()?;
    stage.wait_times(4);
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
    let _victim = stage.victim()?;
    let _event = PerfEvent::open(stage.cpu, config, sample, flags)?;
    stage.wait();
    Ok(())
}

/// A software event of one CPU.
pub(super) struct PerfEvent(std::fs::File);

impl PerfEvent {
    /// One that counts and does not sample.
    pub fn counting(cpu: u32) -> Result<Self> {
        Self::open(cpu, CONTEXT_SWITCHES, 0, 0)
    }

    fn open(cpu: u32, config: u64, sample: u64, flags: u64) -> Result<Self> {
        let size = size_of::<PerfEventAttr>() as u32;
        let attr = PerfEventAttr { kind: SOFTWARE, size, config, sample, flags, ..PerfEventAttr::default() };
        // SAFETY: the structure lives across the call; all processes, this CPU, no group, no flags.
        let event = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, -1, cpu, -1, 0) };
        let event = checked("perf_event_open", event)? as i32;
        // SAFETY: a file of our own.
        Ok(Self(unsafe { std::fs::File::from_raw_fd(event) }))
    }

    /// Its count.
    pub fn read(&self) -> Result<u64> {
        let mut count = [0; 8];
        (&self.0).read_exact(&mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}
