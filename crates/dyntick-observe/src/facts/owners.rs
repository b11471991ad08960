// SPDX-License-Identifier: GPL-2.0-only
//! The possessions of tasks that keep ticks alive: CPU-time timers and limits, perf events, CPU quotas.

use super::quotas::{OF_GROUP, ROOT, quota};
use dyntick_system::read_lossy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The possessions of the tasks of a machine, by process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owners {
    /// Timers and limits on CPU time, in words.
    pub cpu_timers: BTreeMap<i32, String>,
    /// The number of perf events that a process has open.
    pub perf_events: BTreeMap<i32, u64>,
    /// The CPU quota of a process's control group, in words.
    pub quotas: BTreeMap<i32, String>,
    /// The control group of a process, where groups can be given CPUs (cgroup v2, the cpuset controller); none in
    /// records that older versions made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<i32, String>,
    /// The control group whose `memory.high` slows a process down, as its path below the root of the hierarchy; none in
    /// records that older versions made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memory: BTreeMap<i32, String>,
}

impl Owners {
    /// Adds what these processes own now. What may not be looked at is left out.
    pub fn look(&mut self, processes: impl IntoIterator<Item = i32>) {
        let controllers = read("/sys/fs/cgroup/cgroup.controllers");
        let have_cpus = controllers.split_ascii_whitespace().any(|controller| controller == "cpuset");
        for process in processes {
            let folder = format!("/proc/{process}");
            let timers = cpu_timers(&read(&format!("{folder}/timers")));
            let limit = cpu_limit(&read(&format!("{folder}/limits")));
            if let Some(text) = joined(timers.into_iter().chain(limit)) {
                self.cpu_timers.insert(process, text);
            }
            let events = perf_events(&format!("{folder}/fd"));
            if events > 0 {
                self.perf_events.insert(process, events);
            }
            let groups = std::fs::read(format!("{folder}/cgroup")).unwrap_or_default();
            let Some(group) = group(&groups) else { continue };
            if let Some(quota) = group.ancestors().find_map(quota) {
                self.quotas.insert(process, quota);
            }
            if let Some(limited) = group.ancestors().find(|group| has_memory_high(group)) {
                self.memory.insert(process, limited.display().to_string());
            }
            if have_cpus {
                self.groups.insert(process, group.display().to_string());
            }
        }
    }

    /// The group whose quota limits a process, as its path below the root of the hierarchy.
    pub fn quota_group(&self, process: i32) -> Option<&str> {
        self.quotas.get(&process)?.split_once(OF_GROUP).map(|(_, group)| group)
    }

    /// The unit of systemd's system manager that a process belongs to.
    pub fn unit(&self, process: i32) -> Option<&str> {
        let is_unit = |name: &&str| name.ends_with(".service") || name.ends_with(".scope");
        self.groups.get(&process)?.split('/').find(is_unit).filter(|unit| is_plain(unit))
    }
}

/// Returns true if a shell reads the name literally. systemd escapes other characters in names of units.
fn is_plain(unit: &str) -> bool {
    !unit.starts_with('-') && unit.chars().all(|c| c.is_ascii_alphanumeric() || "._:@-".contains(c))
}

fn read(path: &str) -> String {
    read_lossy(Path::new(path)).unwrap_or_default()
}

fn joined(texts: impl Iterator<Item = String>) -> Option<String> {
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// The POSIX timers on CPU time in `/proc/PID/timers` (`fs/proc/base.c: show_timer`): those on clock 2,
/// the process's, 3, the thread's, and the negative ones, of another task.
fn cpu_timers(text: &str) -> Vec<String> {
    let mut timers = Vec::new();
    let mut number = "?";
    for line in text.lines() {
        match line.split_once(": ") {
            Some(("ID", id)) => number = id.trim(),
            Some(("ClockID", clock)) => timers.extend(match clock.trim().parse::<i32>() {
                Ok(2) => Some(format!("timer {number} on the CPU time of its process")),
                Ok(3) => Some(format!("timer {number} on the CPU time of its thread")),
                Ok(clock) if clock < 0 => Some(format!("timer {number} on the CPU time of another task")),
                _ => None,
            }),
            _ => {}
        }
    }
    timers
}

/// The limit on CPU time in `/proc/PID/limits`.
fn cpu_limit(text: &str) -> Option<String> {
    let values = text.lines().find_map(|line| line.strip_prefix("Max cpu time"))?;
    let soft = values.split_ascii_whitespace().next().filter(|soft| *soft != "unlimited")?;
    Some(format!("a limit of {soft} s of CPU time (ulimit -t)"))
}

fn perf_events(folder: &str) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links.filter(|link| link.as_os_str() == "anon_inode:[perf_event]").count() as u64
}

/// Returns true if the group itself has a limit above which its processes are slowed down.
fn has_memory_high(group: &Path) -> bool {
    let limit = read_lossy(&Path::new(ROOT).join(group).join("memory.high"));
    limit.is_ok_and(|limit| limit.trim() != "max")
}

/// The group of a process below the root of the hierarchy of cgroup v2, by its `/proc/PID/cgroup`.
fn group(text: &[u8]) -> Option<&Path> {
    let group = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"0::/"))?;
    Some(Path::new(OsStr::from_bytes(group)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_on_cpu_time_only() {
        let text = "ID: 0\nsignal: 14/0000\nnotify: signal/pid.7\nClockID: 2\n\
                    ID: 1\nsignal: 14/0000\nnotify: signal/pid.7\nClockID: 1\n\
                    ID: 2\nsignal: 14/0000\nnotify: signal/tid.7\nClockID: -6\n";
        let timers = cpu_timers(text);
        assert_eq!(
            timers,
            ["timer 0 on the CPU time of its process", "timer 2 on the CPU time of another task"]
        );
    }

    #[test]
    fn groups_and_units() {
        let mut owners = Owners::default();
        owners.quotas.insert(7, format!("20000 µs in 100000 µs, {OF_GROUP}kubepods/pod 1"));
        assert_eq!((owners.quota_group(7), owners.quota_group(8)), (Some("kubepods/pod 1"), None));
        let unit = |path: &str| {
            let owners = Owners { groups: [(7, path.to_owned())].into(), ..Owners::default() };
            owners.unit(7).map(str::to_owned)
        };
        assert_eq!(unit("system.slice/cron.service").as_deref(), Some("cron.service"));
        let app = "user.slice/user-1000.slice/user@1000.service/app.slice/app.service";
        assert_eq!(
            unit(app).as_deref(),
            Some("user@1000.service"),
            "the one that the system's manager knows"
        );
        for none in ["", "pod", "system.slice/odd$(x).service", "--x.service"] {
            assert_eq!(unit(none), None, "{none}");
        }
        assert_eq!(group(b"1:name=systemd:/x\n0::/a/b\n"), Some(Path::new("a/b")));
    }

    #[test]
    fn limits_that_are_none() {
        let line = |value| {
            format!(
                "Limit  Soft Limit\nMax cpu time              {value}            unlimited            seconds\n"
            )
        };
        assert_eq!(cpu_limit(&line("unlimited")), None);
        assert_eq!(cpu_limit(&line("60")).unwrap(), "a limit of 60 s of CPU time (ulimit -t)");
    }
}
