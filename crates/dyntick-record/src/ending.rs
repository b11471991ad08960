// SPDX-License-Identifier: GPL-2.0-only
//! The end of a recording: the command, the process, or Ctrl-C.

use crate::buffers::Control;
use crate::recorder::record_until;
use crate::{Options, Record, RecordError};
use dyntick_model::CpuList;
use dyntick_system::signals::Noted;
use dyntick_system::{affinity, run_on};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Records while a command runs. The command gets the affinity that this thread has at the call.
///
/// Ctrl-C reaches the command and does not end this program, so that the record is kept; SIGTERM and SIGHUP are passed
/// on to the command. With [`Options::last`], SIGUSR1 requests a snapshot.
pub fn record_command(options: &Options, words: &[String]) -> Result<(Record, ExitStatus), RecordError> {
    let Some((program, arguments)) = words.split_first() else { return Err(RecordError::NoCommand) };
    let home = affinity(None).map_err(|error| RecordError::Start(program.clone(), error))?;
    let mut command = Command::new(program);
    command.args(arguments);
    at(&mut command, home);
    let signals = signals(options);
    let (record, status) = record_until(options, |control| {
        let child = command.spawn()?;
        control.follow(child.id() as i32);
        passed_on(&signals, control, child)
    })?;
    drop(signals);
    Ok((record, status.map_err(|error| RecordError::Start(program.clone(), error))?))
}

/// Records until a process has ended, until Ctrl-C, or until there is no more space.
pub fn record_process(options: &Options, pid: i32) -> Result<Record, RecordError> {
    let process = Pid::from_raw(pid).ok_or(RecordError::NoProcess(pid))?;
    let process = pidfd_open(process, PidfdFlags::empty()).map_err(|_| RecordError::NoProcess(pid))?;
    let signals = signals(options);
    let (record, ()) = record_until(options, |control| {
        control.follow(pid);
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        // A caught signal ends the wait, too.
        while !matches!(poll(&mut ended, Some(&POLL_AT_LEAST)), Ok(1..)) && !ended_by(&signals, control) {}
    })?;
    Ok(record)
}

/// Records until Ctrl-C, or until there is no more space.
pub fn record_until_interrupted(options: &Options) -> Result<Record, RecordError> {
    let signals = signals(options);
    let (record, ()) = record_until(options, |control| until_interrupted(&signals, control, None))?;
    Ok(record)
}

/// Waits until Ctrl-C, until there is no more space, or for this time.
fn until_interrupted(signals: &Noted, control: &Control, at_most: Option<Duration>) {
    let begin = Instant::now();
    while !ended_by(signals, control) && at_most.is_none_or(|at_most| begin.elapsed() < at_most) {
        // Short, so that a signal between the check and the wait is seen, too.
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Calls `job` with a wait of this time that Ctrl-C ends, so that what records is removed in any case.
pub(crate) fn with_wait<T>(options: &Options, time: Duration, job: impl FnOnce(&dyn Fn(&Control)) -> T) -> T {
    let signals = signals(options);
    job(&|control| until_interrupted(&signals, control, Some(time)))
}

/// Gives a command these CPUs.
fn at(command: &mut Command, cpus: CpuList) {
    // SAFETY: one system call between fork and exec. If it fails, the command runs elsewhere.
    unsafe {
        command.pre_exec(move || {
            let _ = run_on(None, &cpus);
            Ok(())
        });
    }
}

/// The longest delay until a signal between the check and the wait is seen.
const POLL_AT_LEAST: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };

/// The signals with which users end a program. They are only noted during a recording, so that the trace instance is
/// removed and the record written.
const ENDS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

fn signals(options: &Options) -> Noted {
    let snapshot = options.last.is_some().then_some(libc::SIGUSR1);
    Noted::of(&ENDS.into_iter().chain(snapshot).collect::<Vec<_>>())
}

/// The next signal that ends the recording. A request for a snapshot is passed on.
fn next_end(signals: &Noted, control: &Control) -> Option<i32> {
    loop {
        match signals.take() {
            Some(libc::SIGUSR1) => control.snapshot.store(true, Ordering::Relaxed),
            other => return other,
        }
    }
}

fn ended_by(signals: &Noted, control: &Control) -> bool {
    next_end(signals, control).is_some() || control.ends()
}

/// Waits for a command, and passes signals on that were sent to this program only. A terminal signals both.
fn passed_on(signals: &Noted, control: &Control, mut command: Child) -> std::io::Result<ExitStatus> {
    let pid = Pid::from_child(&command);
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    loop {
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        match poll(&mut ended, Some(&POLL_AT_LEAST)) {
            Ok(1..) => return command.wait(),
            _ => match next_end(signals, control) {
                Some(libc::SIGTERM) => pidfd_send_signal(&process, Signal::TERM)?,
                Some(libc::SIGHUP) => pidfd_send_signal(&process, Signal::HUP)?,
                _ => {}
            },
        }
    }
}
