// SPDX-License-Identifier: GPL-2.0-only
//! Signals: those to this program are read from a signalfd; one wakes measuring threads.

use crate::LatencyError;
use dyntick_system::signals::{heard, set_of};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The signals with which users and timeouts end a program, and the one that asks for its status.
const KEPT: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1];

/// Ends a measuring thread's sleep, and is the signal of its timer.
pub(crate) const WAKE: i32 = libc::SIGALRM;

/// Reads those signals. While it lives they have no other effect, in this thread and the threads that it starts.
#[derive(Debug)]
pub(crate) struct Signals {
    file: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    pub fn keep() -> Result<Self, LatencyError> {
        let failed = |what| LatencyError::System(what, io::Error::last_os_error());
        // SAFETY: the structures live across the calls; `ignore` does nothing, which a handler may.
        unsafe {
            let set = set_of(&heard(&KEPT));
            let mut before = MaybeUninit::uninit();
            if libc::pthread_sigmask(libc::SIG_BLOCK, &set, before.as_mut_ptr()) != 0 {
                return Err(failed("block signals"));
            }
            let before = before.assume_init();
            let file = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if file < 0 {
                return Err(failed("read signals"));
            }
            let mut wake: libc::sigaction = std::mem::zeroed();
            wake.sa_sigaction = ignore as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(WAKE, &wake, std::ptr::null_mut());
            Ok(Self { file: OwnedFd::from_raw_fd(file), before })
        }
    }

    /// The next pending signal.
    pub fn next(&self) -> Option<i32> {
        let mut one = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes at most that many bytes, and a complete structure or nothing.
        unsafe {
            let read = libc::read(self.file.as_raw_fd(), one.as_mut_ptr().cast(), size);
            (read == size as isize).then(|| one.assume_init().ssi_signo as i32)
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the kernel returned this mask.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut());
        }
    }
}

extern "C" fn ignore(_: libc::c_int) {}

/// Ends the sleep of a thread of this process.
pub(crate) fn wake(tid: i32) {
    // SAFETY: a system call; a thread that has ended is not found.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, WAKE);
    }
}
