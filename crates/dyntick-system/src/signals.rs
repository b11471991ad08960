// SPDX-License-Identifier: GPL-2.0-only
//! The signals with which users end a program: noted while something is at work, or read by a thread.
//!
//! signal-hook does not give a signal its former disposition back, which this needs: Ctrl-C ends a long
//! analysis, and does not end the recording before it.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

/// True if this program was started with a signal ignored, as SIGHUP is by nohup: it stays so.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero structure is valid, and lives across the call.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now);
        now.sa_sigaction == libc::SIG_IGN
    }
}

/// The signals that every verb handles, of these: all but a SIGHUP that nohup has set to be ignored. A shell without
/// job control starts what is in the background with SIGINT ignored. A script ends its measurement with it
/// nevertheless (`kill -INT $!`), as it ends those of perf stat, cyclictest and timeout(1), which handle it in any case
/// (`tools/perf/builtin-stat.c: cmd_stat`, `src/cyclictest/cyclictest.c: main`, `src/timeout.c: install_cleanup`).
pub fn heard(signals: &[i32]) -> Vec<i32> {
    let is_heard = |signal: &i32| *signal != libc::SIGHUP || !is_ignored(*signal);
    let heard: Vec<i32> = signals.iter().copied().filter(is_heard).collect();
    for signal in heard.iter().filter(|signal| is_ignored(**signal)) {
        IGNORED.fetch_or(1 << signal, Ordering::Relaxed);
    }
    heard
}

/// The signals that were ignored when this program was started and that it handles, as bits.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// A set of signals.
pub fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: emptied before it is used.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        signals.iter().for_each(|signal| _ = libc::sigaddset(set.as_mut_ptr(), *signal));
        set.assume_init()
    }
}

/// The signals that were noted, as bits.
static NOTED: AtomicU64 = AtomicU64::new(0);

extern "C" fn note(signal: libc::c_int) {
    NOTED.fetch_or(1 << signal, Ordering::Relaxed);
}

/// Signals that are noted while this lives, and end a wait of the thread that gets them. Behind it they do
/// what they did before; a program that is started meanwhile gets them as always.
pub struct Noted(Vec<(i32, libc::sigaction)>);

impl Noted {
    /// Notes these signals, but not a SIGHUP that nohup has set to be ignored. One at a time: the note is
    /// this program's.
    pub fn of(signals: &[i32]) -> Self {
        NOTED.store(0, Ordering::Relaxed);
        Self(heard(signals).into_iter().map(|signal| (signal, noted(signal))).collect())
    }

    /// The next one of those that came since this was asked, that of the lowest number first.
    pub fn take(&self) -> Option<i32> {
        let noted = NOTED.load(Ordering::Relaxed);
        let signal = (noted != 0).then(|| noted.trailing_zeros())?;
        NOTED.fetch_and(!(1 << signal), Ordering::Relaxed);
        Some(signal as i32)
    }
}

/// Has a signal noted, and returns its former action.
fn noted(signal: i32) -> libc::sigaction {
    // SAFETY: `note` stores to an atomic, which a handler may; both structures live across the call.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        let mut ours: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigaction(signal, &ours, &mut before);
        before
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        for (signal, before) in &self.0 {
            // SAFETY: the structure that the kernel gave.
            unsafe {
                libc::sigaction(*signal, before, std::ptr::null_mut());
            }
        }
    }
}

/// Starts a thread that reads these signals, but not a SIGHUP that nohup has set to be ignored, and hands each to
/// `then` until that says no. Call it before any other thread is started: threads inherit what is blocked.
///
/// # Errors
///
/// If no thread can be started.
pub fn read_by_thread(signals: &[i32], mut then: impl FnMut(i32) -> bool + Send + 'static) -> io::Result<()> {
    let set = set_of(&heard(signals));
    // SAFETY: the set lives across the call.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
    let read = move || {
        let mut signal = 0;
        // SAFETY: both live across the call.
        while unsafe { libc::sigwait(&set, &mut signal) } != 0 || then(signal) {}
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(read).map(drop)
}

/// Has this thread take all signals again: for a command that is about to be executed. It inherits what is blocked or
/// ignored, and would not end by such a signal, but not what is handled. Async-signal-safe.
pub fn for_command() {
    let ignored = IGNORED.load(Ordering::Relaxed);
    // SAFETY: the set lives across the calls.
    unsafe {
        for signal in (1..64).filter(|signal| ignored & (1 << signal) != 0) {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// Ends this process as a signal does, so that its parent sees which one.
pub fn end_by(signal: i32) {
    let set = set_of(&[signal]);
    // SAFETY: async-signal-safe calls; the signal's own action ends the process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_noted_once_and_does_again_what_it_did() {
        // Its own action is to be ignored, so that the test does not end before and after.
        let raise = || unsafe { libc::raise(libc::SIGURG) };
        raise();
        let noted = Noted::of(&[libc::SIGURG]);
        assert_eq!(noted.take(), None);
        raise();
        assert_eq!((noted.take(), noted.take()), (Some(libc::SIGURG), None));
        drop(noted);
        raise();
        assert_eq!(NOTED.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn ignored_sighup_stays_ignored() {
        // SAFETY: no other test has to do with these signals.
        unsafe {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            libc::signal(libc::SIGWINCH, libc::SIG_IGN);
        }
        assert!(is_ignored(libc::SIGWINCH) && !is_ignored(libc::SIGCONT));
        assert_eq!(heard(&[libc::SIGHUP, libc::SIGWINCH]), [libc::SIGWINCH]);
    }

    #[test]
    fn command_ends_by_a_signal_that_was_ignored_at_the_start() {
        use std::os::unix::process::CommandExt;
        // SAFETY: no other test has to do with this signal.
        unsafe { libc::signal(libc::SIGTTIN, libc::SIG_IGN) };
        assert_eq!(heard(&[libc::SIGTTIN]), [libc::SIGTTIN]);
        let ignored = |prepare: fn()| {
            let mut command = std::process::Command::new("sed");
            command.args(["-n", "s/^SigIgn:.//p", "/proc/self/status"]);
            // SAFETY: async-signal-safe.
            unsafe {
                command.pre_exec(move || {
                    prepare();
                    Ok(())
                });
            }
            let output = command.output().unwrap();
            let set = u64::from_str_radix(String::from_utf8_lossy(&output.stdout).trim(), 16).unwrap();
            set & (1 << (libc::SIGTTIN - 1)) != 0
        };
        assert_eq!((ignored(|| {}), ignored(for_command)), (true, false));
    }
}
