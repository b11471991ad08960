// SPDX-License-Identifier: GPL-2.0-only
//! A second process that restores the machine at once when the first is killed.
//!
//! It holds the lock of the journal together with the first, so that no process takes one for dead while the other is
//! still at work. It waits for the end of a pipe, which comes when the first process ends in any way. If the guardian
//! is killed too, the journal remains for the next dyntick.

use crate::journal::{Journal, JournalError};
use crate::restore::{Restored, restore};
use crate::system::Live;
use rustix::io::FdFlags;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The first argument that starts this program as guardian; the second is the file descriptor of the journal.
pub const GUARD_COMMAND: &str = "isolate-guardian";

/// The guardian of this process.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
}

impl Guardian {
    /// Starts it in its own session, so that signals of this terminal do not reach it.
    pub fn start(program: &Path, journal: &Journal) -> io::Result<Self> {
        let lock = journal.file().as_raw_fd();
        let mut command = Command::new(program);
        command.arg(GUARD_COMMAND).arg(lock.to_string()).stdin(Stdio::piped()).stdout(Stdio::null());
        // SAFETY: system calls only, in a child that has one thread.
        unsafe {
            command.pre_exec(move || {
                rustix::process::setsid()?;
                for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGTSTP] {
                    libc::signal(signal, libc::SIG_IGN);
                }
                let file = std::os::fd::BorrowedFd::borrow_raw(lock);
                Ok(rustix::io::fcntl_setfd(file, FdFlags::empty())?)
            });
        }
        Ok(Self { child: command.spawn()? })
    }

    /// Ends it when there is nothing left to guard.
    pub fn dismiss(mut self) {
        // It finds no journal at its path, and ends.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Runs the guardian. Returns the restored settings; `None` if the first process ended normally.
pub fn guard(lock: RawFd) -> Result<Option<Restored>, JournalError> {
    // SAFETY: the parent has opened this descriptor for this process alone.
    let file = unsafe { File::from_raw_fd(lock) };
    let mut end = [0; 1];
    while io::stdin().read(&mut end).is_ok_and(|count| count > 0) {}
    let journal = Journal::inherit(&Journal::default_path(), file);
    if journal.is_at_its_path() { restore(&mut Live, journal) } else { Ok(None) }
}
