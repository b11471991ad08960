// SPDX-License-Identifier: GPL-2.0-only
//! A POSIX timer that signals the thread that created it.

use crate::clock::timespec;
use crate::signals::WAKE;
use crate::{Clock, LatencyError};
use dyntick_system::signals::set_of;
use std::io;
use std::mem::MaybeUninit;

/// The timer of this thread, which blocks the timer's signal and waits for it.
#[derive(Debug)]
pub(crate) struct Timer {
    timer: libc::timer_t,
    signal: libc::sigset_t,
}

fn libc_time(ns: u64) -> libc::timespec {
    let time = timespec(ns);
    libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_nsec }
}

impl Timer {
    /// Arms the timer: first at `first_ns` of the clock, or `first_ns` from now; then every `interval_ns`.
    pub fn start(
        clock: Clock,
        absolute: bool,
        first_ns: u64,
        interval_ns: u64,
    ) -> Result<Self, LatencyError> {
        let failed = || LatencyError::System("create a POSIX timer", io::Error::last_os_error());
        let (id, flags) = match clock {
            Clock::Monotonic => (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME),
            Clock::Realtime => (libc::CLOCK_REALTIME, libc::TIMER_ABSTIME),
        };
        let signal = set_of(&[WAKE]);
        // SAFETY: the structures live across the calls, and the timer exists.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &signal, std::ptr::null_mut());
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = WAKE;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = MaybeUninit::uninit();
            if libc::timer_create(id, &mut event, timer.as_mut_ptr()) != 0 {
                return Err(failed());
            }
            let made = Self { timer: timer.assume_init(), signal };
            let times =
                libc::itimerspec { it_value: libc_time(first_ns), it_interval: libc_time(interval_ns) };
            match libc::timer_settime(
                made.timer,
                if absolute { flags } else { 0 },
                &times,
                std::ptr::null_mut(),
            ) {
                0 => Ok(made),
                _ => Err(failed()),
            }
        }
    }

    /// Waits for the signal, and returns the number of missed expiries.
    pub fn wait(&self) -> u64 {
        // SAFETY: the set and the timer exist.
        unsafe {
            let mut signal = 0;
            libc::sigwait(&self.signal, &mut signal);
            libc::timer_getoverrun(self.timer).max(0) as u64
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer exists and is deleted once.
        unsafe {
            libc::timer_delete(self.timer);
        }
    }
}
