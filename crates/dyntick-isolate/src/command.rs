// SPDX-License-Identifier: GPL-2.0-only
//! The isolated command.

use crate::signals;
use dyntick_model::CpuList;
use dyntick_system::{cpu_set, schedule};
use rustix::process::{Pid, WaitId, WaitIdOptions};
use rustix::thread::CpuSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

/// The CPUs and the scheduling of a command.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Its CPUs.
    pub cpus: CpuList,
    /// The control group to join.
    pub partition: Option<PathBuf>,
    /// Its priority under SCHED_FIFO.
    pub fifo: Option<u32>,
}

/// A running command.
#[derive(Debug)]
pub struct Running {
    child: Child,
}

impl Running {
    /// Starts it with this process's environment, folder and terminal.
    pub fn start(command: &[OsString], placement: &Placement) -> io::Result<Self> {
        Self::start_into(command, placement, None)
    }

    /// The same with its standard output in a file.
    pub fn start_into(command: &[OsString], placement: &Placement, output: Option<File>) -> io::Result<Self> {
        let mut start = Command::new(&command[0]);
        start.args(&command[1..]);
        if let Some(output) = output {
            start.stdout(output);
        }
        let entrance = placement.partition.as_ref().map(|group| group.join("cgroup.procs"));
        let entrance = entrance.map(|path| OpenOptions::new().write(true).open(path)).transpose()?;
        let set = cpu_set(&placement.cpus);
        let fifo = placement.fifo;
        // SAFETY: system calls of a child that has one thread.
        unsafe {
            start.pre_exec(move || place(entrance.as_ref(), &set, fifo));
        }
        let child = start.spawn()?;
        signals::pass_on_to(child.id() as i32);
        Ok(Self { child })
    }

    /// Its process.
    pub fn process(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits for its end.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(&self.child);
        // Its PID stays reserved until it is reaped, so no signal can reach another process.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
        signals::pass_on_to(0);
        self.child.wait()
    }
}

fn place(mut entrance: Option<&File>, set: &CpuSet, fifo: Option<u32>) -> io::Result<()> {
    // This comes first, since joining a cpuset resets the affinity.
    if let Some(entrance) = &mut entrance {
        entrance.write_all(b"0")?;
    }
    // In its partition a task has these CPUs already, unless its parent was restricted.
    if rustix::thread::sched_getaffinity(None)? != *set {
        rustix::thread::sched_setaffinity(None, set)?;
    }
    let Some(priority) = fifo else { return Ok(()) };
    schedule(0, libc::SCHED_FIFO, priority)
}
