// SPDX-License-Identifier: GPL-2.0-only
//! The isolated command.

use crate::signals;
use dyntick_model::CpuList;
use dyntick_system::{cpu_set, read_lossy, schedule};
use rustix::process::{Pid, WaitId, WaitIdOptions};
use rustix::thread::CpuSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
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

    /// Waits for its end, and calls `look` with the process that has ended, while `/proc` still has it.
    pub fn wait(mut self, look: impl FnOnce(i32)) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(&self.child);
        // Its PID stays reserved until it is reaped, so no signal can reach another process.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
        signals::pass_on_to(0);
        look(self.process());
        self.child.wait()
    }
}

/// The control group of a process, if that is outside this partition and the groups below it.
pub fn group_outside(process: i32, partition: &Path) -> Option<String> {
    let groups = read_lossy(Path::new(&format!("/proc/{process}/cgroup"))).ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    (!is_within(Path::new(group), partition)).then(|| group.to_owned())
}

/// Groups are named below the root of the hierarchy, and the partition by its folder.
fn is_within(group: &Path, partition: &Path) -> bool {
    let relative = group.ancestors().filter_map(|group| group.strip_prefix("/").ok());
    relative.filter(|group| *group != Path::new("")).any(|group| partition.ends_with(group))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_is_within_its_partition_by_name() {
        let within = |group: &str, partition: &str| is_within(Path::new(group), Path::new(partition));
        let partition = "/sys/fs/cgroup/dyntick-isolate";
        assert!(within("/dyntick-isolate", partition) && within("/dyntick-isolate/a/b", partition));
        for group in ["/", "/user.slice/run-1.scope", "/dyntick-isolate-2", "/cgroup"] {
            assert!(!within(group, partition), "{group}");
        }
        let below = "/sys/fs/cgroup/unified/user.slice/x/dyntick-isolate";
        assert!(within("/user.slice/x/dyntick-isolate", below) && !within("/user.slice/x", below));
    }
}
