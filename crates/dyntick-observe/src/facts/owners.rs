// SPDX-License-Identifier: GPL-2.0-only
//! What tasks own that keeps ticks alive: CPU-time timers and limits, perf events, CPU quotas.

use dyntick_system::read_lossy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the tasks of a machine own, by process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owners {
    /// Timers and limits on CPU time, in words.
    pub cpu_timers: BTreeMap<i32, String>,
    /// How many perf events a process has open.
    pub perf_events: BTreeMap<i32, u64>,
    /// The CPU quota of a process's control group, in words.
    pub quotas: BTreeMap<i32, String>,
}

impl Owners {
    /// Adds what these processes own now. What may not be looked at is left out.
    pub fn look(&mut self, processes: impl IntoIterator<Item = i32>) {
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
            if let Some(quota) = quota(&std::fs::read(format!("{folder}/cgroup")).unwrap_or_default()) {
                self.quotas.insert(process, quota);
            }
        }
    }
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

/// The quota of a group or of one that it is in, by `/proc/PID/cgroup` with cgroup v2.
fn quota(text: &[u8]) -> Option<String> {
    let group = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"0::/"))?;
    Path::new(OsStr::from_bytes(group)).ancestors().find_map(|group| {
        let limit = std::fs::read_to_string(Path::new("/sys/fs/cgroup").join(group).join("cpu.max")).ok()?;
        let (quota, period) = limit.trim().split_once(' ').filter(|(quota, _)| *quota != "max")?;
        Some(format!("{quota} µs in {period} µs, cpu.max of /{}", group.display()))
    })
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
