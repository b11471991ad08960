// SPDX-License-Identifier: GPL-2.0-only
//! A control group for each task: what it starts is counted with it, ends with it, and shares its
//! cpuset.

use crate::refused::Refused;
use anyhow::{Context, Result, bail};
use dyntick_guest::Partition;
use dyntick_model::CpuList;
use rustix::mount::MountFlags;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ROOT: &str = "/sys/fs/cgroup";

const NANOS_PER_MICRO: u64 = 1000;

/// Makes control groups available.
pub fn mount() -> Result<()> {
    rustix::mount::mount("cgroup2", ROOT, "cgroup2", MountFlags::empty(), None)
        .context("mount the control groups")
}

/// A control group.
pub struct Group {
    folder: PathBuf,
}

impl Group {
    /// Makes one; with a partition, it alone has these CPUs.
    pub fn new(name: &str, partition: Option<Partition>, cpus: &CpuList) -> Result<Self> {
        let group = Self { folder: Path::new(ROOT).join(name) };
        std::fs::create_dir(&group.folder).with_context(|| format!("make the control group {name}"))?;
        if let Some(partition) = partition {
            group.partition(partition, cpus).map_err(|error| Refused::from_error(&error))?;
        }
        Ok(group)
    }

    fn partition(&self, kind: Partition, cpus: &CpuList) -> Result<()> {
        write(Path::new(ROOT), "cgroup.subtree_control", "+cpuset")?;
        write(&self.folder, "cpuset.cpus", &cpus.to_string())?;
        self.become_partition(kind)
    }

    fn become_partition(&self, kind: Partition) -> Result<()> {
        const FILE: &str = "cpuset.cpus.partition";
        write(&self.folder, FILE, kind.kernel_name())?;
        // The kernel accepts the word, and reports only here that it could not comply.
        let became = std::fs::read_to_string(self.folder.join(FILE))?;
        if became.trim() != kind.kernel_name() {
            bail!("the kernel refuses the {} partition: {}", kind.kernel_name(), became.trim());
        }
        Ok(())
    }

    /// The file into which a process writes `0` to join.
    pub fn entrance(&self) -> Result<File> {
        let path = self.folder.join("cgroup.procs");
        File::options().write(true).open(&path).with_context(|| format!("open {}", path.display()))
    }

    /// User and system time of all that ever ran in it, ns (`cpu.stat`, which counts microseconds).
    pub fn cpu_time(&self) -> Result<(u64, u64)> {
        let text = std::fs::read_to_string(self.folder.join("cpu.stat")).context("read cpu.stat")?;
        let field = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse::<u64>().ok())
        };
        let times = field("user_usec").zip(field("system_usec")).context("cpu.stat has no times")?;
        Ok((times.0 * NANOS_PER_MICRO, times.1 * NANOS_PER_MICRO))
    }

    /// Kills all that runs in it, waits until nothing does, and gives its CPUs back.
    pub fn end(&self) {
        let are_killed = write(&self.folder, "cgroup.kill", "1").is_ok();
        while self.is_populated() {
            if !are_killed {
                self.kill_each();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // PID 1 inherits orphans, which would stay as zombies.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let _ = std::fs::remove_dir(&self.folder);
    }

    /// Kills the processes one by one. Kernels before 5.14 have no `cgroup.kill`. One that starts meanwhile is in the
    /// list of the next call.
    fn kill_each(&self) {
        let list = std::fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        for process in list.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
            // It may have ended by itself.
            let _ = kill_process(process, Signal::KILL);
        }
    }

    fn is_populated(&self) -> bool {
        let events = std::fs::read_to_string(self.folder.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 1")
    }
}

fn write(folder: &Path, file: &str, text: &str) -> Result<()> {
    let path = folder.join(file);
    std::fs::write(&path, text).with_context(|| format!("write {text} to {}", path.display()))
}
