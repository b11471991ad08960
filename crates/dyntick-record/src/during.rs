// SPDX-License-Identifier: GPL-2.0-only
//! What a recording lasts as long as: a command, a process, or until Ctrl-C.

use crate::{Options, Record, RecordError, record};
use dyntick_model::CpuList;
use dyntick_system::{affinity, run_on};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

/// Records while a command runs. It runs where this thread might when this was called.
///
/// Ctrl-C reaches the command and does not end this program, so that what was recorded is kept; SIGTERM and
/// SIGHUP are passed on to it.
pub fn record_command(options: &Options, words: &[String]) -> Result<(Record, ExitStatus), RecordError> {
    let Some((program, arguments)) = words.split_first() else { return Err(RecordError::NoCommand) };
    let home = affinity(None).map_err(|error| RecordError::Start(program.clone(), error))?;
    let mut command = Command::new(program);
    command.args(arguments);
    at(&mut command, home);
    let signals = Signals::catch();
    let (record, status) = record(options, || signals.passed_on_to(command.spawn()?))?;
    drop(signals);
    Ok((record, status.map_err(|error| RecordError::Start(program.clone(), error))?))
}

/// Records until a process has ended, or until Ctrl-C.
pub fn record_process(options: &Options, pid: i32) -> Result<Record, RecordError> {
    let process = Pid::from_raw(pid).ok_or(RecordError::NoProcess(pid))?;
    let process = pidfd_open(process, PidfdFlags::empty()).map_err(|_| RecordError::NoProcess(pid))?;
    let _signals = Signals::catch();
    let (record, ()) = record(options, || {
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        // A signal that is caught ends the wait too.
        let _ = poll(&mut ended, None);
    })?;
    Ok(record)
}

/// Records until Ctrl-C.
pub fn record_until_interrupted(options: &Options) -> Result<Record, RecordError> {
    let signals = Signals::catch();
    let (record, ()) = record(options, || signals.wait())?;
    Ok(record)
}

/// Gives a command these CPUs.
fn at(command: &mut Command, cpus: CpuList) {
    // SAFETY: one system call between fork and exec. Where it is refused the command runs elsewhere.
    unsafe {
        command.pre_exec(move || {
            let _ = run_on(None, &cpus);
            Ok(())
        });
    }
}

/// A signal between the look and the wait is seen after this.
const POLL_AT_LEAST: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };

/// The latest signal that was caught, 0 where there was none.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: libc::c_int) {
    CAUGHT.store(signal, Ordering::Relaxed);
}

/// The signals with which users end a program: caught while this lives, so that the trace instance
/// is removed and the record written. A command that is started gets them as always.
struct Signals(Vec<(libc::c_int, libc::sigaction)>);

impl Signals {
    fn catch() -> Self {
        CAUGHT.store(0, Ordering::Relaxed);
        let catch = |signal| {
            // SAFETY: `note` stores to an atomic, which a handler may; both structures are whole.
            unsafe {
                let mut before: libc::sigaction = std::mem::zeroed();
                let mut ours: libc::sigaction = std::mem::zeroed();
                ours.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
                libc::sigaction(signal, &ours, &mut before);
                if signal == libc::SIGHUP && before.sa_sigaction == libc::SIG_IGN {
                    // nohup wants to go on.
                    libc::sigaction(signal, &before, std::ptr::null_mut());
                }
                (signal, before)
            }
        };
        Self([libc::SIGINT, libc::SIGTERM, libc::SIGHUP].map(catch).into())
    }

    fn wait(&self) {
        while CAUGHT.load(Ordering::Relaxed) == 0 {
            // Short, so that a signal between the look and the wait is seen too.
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }

    /// Waits for a command, which is sent what this program was sent alone. What a terminal sends, it sends
    /// to both.
    fn passed_on_to(&self, mut command: Child) -> std::io::Result<ExitStatus> {
        let pid = Pid::from_child(&command);
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        loop {
            let mut ended = [PollFd::new(&process, PollFlags::IN)];
            match poll(&mut ended, Some(&POLL_AT_LEAST)) {
                Ok(1..) => return command.wait(),
                _ => match CAUGHT.swap(0, Ordering::Relaxed) {
                    libc::SIGTERM => pidfd_send_signal(&process, Signal::TERM)?,
                    libc::SIGHUP => pidfd_send_signal(&process, Signal::HUP)?,
                    _ => {}
                },
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, before) in &self.0 {
            // SAFETY: the structure that the kernel gave.
            unsafe {
                libc::sigaction(*signal, before, std::ptr::null_mut());
            }
        }
    }
}
