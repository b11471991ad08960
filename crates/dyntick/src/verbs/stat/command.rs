// SPDX-License-Identifier: GPL-2.0-only
//! The command that is measured, and what ends a measurement.

use anyhow::{Context, Result};
use dyntick_model::CpuList;
use dyntick_observe::live::Place;
use dyntick_system::run_on;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// What ends a measurement.
pub enum End {
    /// The command ended.
    Command(Finished),
    /// The processes that were named ended.
    Processes,
    /// SIGINT, SIGTERM or SIGHUP.
    Signal(i32),
}

/// A command that ended.
#[derive(Clone, Copy)]
pub struct Finished {
    /// How.
    pub status: ExitStatus,
    /// What it used, with all its children that it waited for.
    pub usage: libc::rusage,
}

impl Finished {
    /// Its exit status as a shell tells it: 128 and the signal's number where one killed it.
    pub fn code(&self) -> u8 {
        let code = self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or_default());
        code as u8
    }
}

/// Waits for what ends a measurement.
pub struct Watch {
    ends: Receiver<End>,
    sender: Sender<End>,
}

impl Watch {
    /// From now on SIGINT, SIGTERM and SIGHUP come here. Call it before any other thread is started.
    pub fn new() -> Result<Self> {
        let (sender, ends) = channel();
        // SAFETY: the set is initialised before it is used, and lives in each thread that uses it.
        let set = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGINT);
            libc::sigaddset(&mut set, libc::SIGTERM);
            let mut hangup: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut hangup);
            // nohup wants to go on.
            if hangup.sa_sigaction != libc::SIG_IGN {
                libc::sigaddset(&mut set, libc::SIGHUP);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            set
        };
        let to = sender.clone();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            loop {
                let mut signal = 0;
                // SAFETY: both live across the call.
                if unsafe { libc::sigwait(&set, &mut signal) } == 0 && to.send(End::Signal(signal)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { ends, sender })
    }

    /// Tells when a command has ended.
    pub fn command(&self, child: Child) -> Result<()> {
        let to = self.sender.clone();
        std::thread::Builder::new().name("command".to_owned()).spawn(move || {
            if let Ok(finished) = wait(child.id()) {
                let _ = to.send(End::Command(finished));
            }
        })?;
        Ok(())
    }

    /// Tells when all these processes have ended.
    pub fn processes(&self, pids: &[u32]) -> Result<()> {
        let to = self.sender.clone();
        let open = |pid: &u32| {
            let pid = rustix::process::Pid::from_raw(*pid as i32).context("0 is no process")?;
            rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
                .with_context(|| format!("there is no process {}", pid.as_raw_nonzero()))
        };
        let handles = pids.iter().map(open).collect::<Result<Vec<_>>>()?;
        std::thread::Builder::new().name("processes".to_owned()).spawn(move || {
            for handle in &handles {
                let mut wait = [rustix::event::PollFd::new(handle, rustix::event::PollFlags::IN)];
                while rustix::event::poll(&mut wait, None).is_err() {}
            }
            let _ = to.send(End::Processes);
        })?;
        Ok(())
    }

    /// What ended the measurement; none when `until` came first.
    pub fn wait(&self, until: Option<Instant>) -> Option<End> {
        match until {
            None => self.ends.recv().ok(),
            Some(until) => self.ends.recv_timeout(until.saturating_duration_since(Instant::now())).ok(),
        }
    }
}

/// Starts a command: on the CPUs that dyntick had itself been given, or on those to pin it to.
pub fn start(words: &[String], place: &Place, pinned: Option<&CpuList>) -> Result<Child> {
    let (program, arguments) = words.split_first().context("no command")?;
    let mut command = Command::new(program);
    command.args(arguments);
    let (place, pinned) = (place.clone(), pinned.cloned());
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(move || match &pinned {
            Some(cpus) => run_on(None, cpus),
            None => place.give_back(),
        });
    }
    command.spawn().with_context(|| format!("cannot run '{program}'"))
}

fn wait(pid: u32) -> std::io::Result<Finished> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and both live across the call.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        if unsafe { libc::wait4(pid as i32, &mut status, 0, &mut usage) } >= 0 {
            return Ok(Finished { status: ExitStatus::from_raw(status), usage });
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
