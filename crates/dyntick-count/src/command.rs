// SPDX-License-Identifier: GPL-2.0-only
//! The command that is measured, and what ends a measurement.

use crate::CountError;
use dyntick_model::CpuList;
use dyntick_observe::live::Place;
use dyntick_system::{exit_code, run_on, signals, wait_with_usage};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// The end of a measurement.
pub enum End {
    /// The command ended.
    Command(Finished),
    /// The processes that were named ended.
    Processes,
    /// SIGINT, SIGTERM or SIGHUP.
    Signal(i32),
    /// Nothing ended; another thread asks for what was counted so far ([`Asker`]).
    Asked,
}

/// A handle by which another thread requests the counts so far.
pub struct Asker(Sender<End>);

impl Asker {
    /// Requests the counts. Returns false if the measurement has ended.
    pub fn ask(&self) -> bool {
        self.0.send(End::Asked).is_ok()
    }
}

/// A command that ended.
#[derive(Clone, Copy)]
pub struct Finished {
    /// The exit status.
    pub status: ExitStatus,
    /// The resources that it used, with all children that it waited for.
    pub usage: libc::rusage,
}

impl Finished {
    /// Its exit status as a shell has it: 128 and the signal's number where one killed it.
    pub fn code(&self) -> u8 {
        exit_code(self.status)
    }
}

/// Waits for what ends a measurement.
pub struct Watch {
    ends: Receiver<End>,
    sender: Sender<End>,
}

impl Watch {
    /// Waits for commands, processes and requests. Signals have another owner.
    pub fn without_signals() -> Self {
        let (sender, ends) = channel();
        Self { ends, sender }
    }

    /// The same, and receives SIGINT, SIGTERM and SIGHUP from now on. Call it before any other thread is started.
    pub fn with_signals() -> Result<Self, CountError> {
        let watch = Self::without_signals();
        let to = watch.sender.clone();
        signals::read_by_thread(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP], move |signal| {
            to.send(End::Signal(signal)).is_ok()
        })
        .map_err(CountError::Thread)?;
        Ok(watch)
    }

    /// Returns a handle for another thread.
    pub fn asker(&self) -> Asker {
        Asker(self.sender.clone())
    }

    /// Waits for the end of a command, in a thread.
    pub fn command(&self, child: Child) -> Result<(), CountError> {
        let to = self.sender.clone();
        let thread = std::thread::Builder::new().name("command".to_owned()).spawn(move || {
            if let Ok((status, usage)) = wait_with_usage(child.id()) {
                let _ = to.send(End::Command(Finished { status, usage }));
            }
        });
        started(thread)
    }

    /// Waits for the end of all these processes, in a thread.
    pub fn processes(&self, pids: &[u32]) -> Result<(), CountError> {
        let to = self.sender.clone();
        let handles = pids.iter().map(|pid| handle(*pid)).collect::<Result<Vec<_>, _>>()?;
        let thread = std::thread::Builder::new().name("processes".to_owned()).spawn(move || {
            for handle in &handles {
                let mut wait = [PollFd::new(handle, PollFlags::IN)];
                while poll(&mut wait, None).is_err() {}
            }
            let _ = to.send(End::Processes);
        });
        started(thread)
    }

    /// Returns the end of the measurement; none if `until` came first.
    pub fn wait(&self, until: Option<Instant>) -> Option<End> {
        match until {
            None => self.ends.recv().ok(),
            Some(until) => self.ends.recv_timeout(until.saturating_duration_since(Instant::now())).ok(),
        }
    }
}

fn started(thread: io::Result<JoinHandle<()>>) -> Result<(), CountError> {
    thread.map(drop).map_err(CountError::Thread)
}

/// A file descriptor that shows the end of a process.
fn handle(pid: u32) -> Result<OwnedFd, CountError> {
    let no_process = |error: Errno| CountError::Process(pid, error.into());
    let raw = Pid::from_raw(pid as i32).ok_or(Errno::SRCH).map_err(no_process)?;
    pidfd_open(raw, PidfdFlags::empty()).map_err(no_process)
}

/// Starts a command: on the CPUs that dyntick had itself been given, or on those to pin it to.
pub fn start(words: &[String], place: &Place, pinned: Option<&CpuList>) -> Result<Child, CountError> {
    let (program, arguments) = words.split_first().ok_or(CountError::NoCommand)?;
    let mut command = Command::new(program);
    command.args(arguments);
    let (place, pinned) = (place.clone(), pinned.cloned());
    // SAFETY: system calls alone between fork and exec.
    unsafe {
        command.pre_exec(move || {
            signals::for_command();
            match &pinned {
                Some(cpus) => run_on(None, cpus),
                None => place.give_back(),
            }
        });
    }
    command.spawn().map_err(|error| CountError::Command(program.clone(), error))
}
