// SPDX-License-Identifier: GPL-2.0-only
//! The possessions of tasks that keep ticks alive: CPU-time timers and limits, perf events, CPU quotas.

use super::memory_limits::{MemoryLimit, OfProcesses, look_again};
use super::probe_links::{link_id, probe_links};
use super::quotas::{CPU, Hierarchy, Quota};
use dyntick_system::read_lossy;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
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
    /// The files and places that BPF links of a process probe in programs, in words; of process 0 those whose process
    /// was not seen. None in records that older versions made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probe_links: BTreeMap<i32, BTreeSet<String>>,
    /// The CPU quota of a process's control group, in words.
    pub quotas: BTreeMap<i32, String>,
    /// The same quota, and those of the groups above, the innermost first; none in records that older versions made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<i32, Vec<Quota>>,
    /// The control group of a process, where groups can be given CPUs (cgroup v2, the cpuset controller); none in
    /// records that older versions made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<i32, String>,
    /// The memory limits of a process's control group and those above, the innermost first; none in records that older
    /// versions made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memory_limits: BTreeMap<i32, Vec<MemoryLimit>>,
}

impl Owners {
    /// Adds what these processes own now. What may not be looked at is left out.
    pub fn look(&mut self, processes: impl IntoIterator<Item = i32>) {
        let controllers = read("/sys/fs/cgroup/cgroup.controllers");
        let have_cpus = controllers.split_ascii_whitespace().any(|controller| controller == "cpuset");
        let hierarchy = Hierarchy::of_machine(CPU);
        let mut memory = OfProcesses::of_machine();
        let mut owners_of_links = BTreeMap::new();
        let known = self.memory_limits.values().flatten();
        let known = known.map(|limit| (limit.file.clone(), limit.before)).collect();
        for process in processes {
            let folder = format!("/proc/{process}");
            let timers = cpu_timers(&read(&format!("{folder}/timers")));
            let limit = cpu_limit(&read(&format!("{folder}/limits")));
            if let Some(text) = joined(timers.into_iter().chain(limit)) {
                self.cpu_timers.insert(process, text);
            }
            let opened = Opened::by(&folder);
            if opened.perf_events > 0 {
                self.perf_events.insert(process, opened.perf_events);
            }
            owners_of_links.extend(opened.links.into_iter().map(|link| (link, process)));
            let groups = std::fs::read(format!("{folder}/cgroup")).unwrap_or_default();
            let limits = hierarchy.as_ref().map_or(Vec::new(), |hierarchy| hierarchy.quotas(&groups));
            if let Some(quota) = limits.first() {
                self.quotas.insert(process, quota.words());
                self.limits.insert(process, limits);
            }
            let limits = memory.of(&groups);
            if !limits.is_empty() {
                self.memory_limits.insert(process, limits);
            }
            if let Some(group) = group(&groups).filter(|_| have_cpus) {
                self.groups.insert(process, group.display().to_string());
            }
        }
        for link in probe_links() {
            let owner = owners_of_links.get(&link.id).copied().unwrap_or(0);
            self.probe_links.entry(owner).or_default().insert(link.words());
        }
        look_again(&mut self.memory_limits, &known);
    }

    /// The innermost quota that limits a process.
    pub fn quota(&self, process: i32) -> Option<&Quota> {
        self.limits.get(&process)?.first()
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

/// The descriptors of a process that matter here.
#[derive(Default)]
struct Opened {
    perf_events: u64,
    /// The numbers of BPF links.
    links: Vec<u32>,
}

impl Opened {
    /// Reads the descriptors of the process with this folder in /proc.
    fn by(folder: &str) -> Self {
        let mut opened = Self::default();
        for file in std::fs::read_dir(format!("{folder}/fd")).into_iter().flatten().flatten() {
            let Ok(link) = std::fs::read_link(file.path()) else { continue };
            match link.as_os_str().as_bytes() {
                b"anon_inode:[perf_event]" => opened.perf_events += 1,
                b"anon_inode:bpf_link" | b"anon_inode:bpf-link" | b"anon_inode:[bpf_link]" => {
                    let info = read(&format!("{folder}/fdinfo/{}", file.file_name().to_string_lossy()));
                    opened.links.extend(link_id(&info));
                }
                _ => {}
            }
        }
        opened
    }
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
        let quota = |file: &str| {
            let (group, file) = ("kubepods/pod 1".to_owned(), file.to_owned());
            vec![Quota { number: 9, group, file, quota_us: 20_000, period_us: 100_000 }]
        };
        owners.limits.insert(7, quota("/sys/fs/cgroup/kubepods/pod 1/cpu.max"));
        owners.limits.insert(8, quota("/sys/fs/cgroup/cpu/kubepods/pod 1/cpu.cfs_quota_us"));
        assert_eq!(
            [7, 8, 9].map(|process| owners.quota(process).map(|quota| quota.is_v2())),
            [Some(true), Some(false), None]
        );
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
