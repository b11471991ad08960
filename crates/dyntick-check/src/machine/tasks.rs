// SPDX-License-Identifier: GPL-2.0-only
//! The threads, from `/proc/PID/task/TID/stat` and `status`.

use crate::finding::Evidence;
use crate::snapshot::Snapshot;
use crate::sources::{TASK_STAT, TASK_STATUS};
use dyntick_model::CpuList;
use dyntick_model::text::clean_line;

/// `include/linux/sched.h`: a thread of the kernel.
const PF_KTHREAD: u64 = 0x0020_0000;
/// `include/linux/sched.h`: user space may not change its CPUs.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The file that names it.
    pub file: String,
    /// The process ID.
    pub pid: u32,
    /// The thread ID.
    pub tid: u32,
    /// The name, at most 15 characters, without control characters: any user can name a task.
    pub name: String,
    /// True for a kernel thread.
    pub kernel: bool,
    /// True if its CPUs may be changed.
    pub movable: bool,
    /// The scheduling policy (`include/uapi/linux/sched.h`), if known.
    pub policy: Option<u64>,
    /// The real-time priority, 1 to 99; 0 under other policies.
    pub priority: u64,
    /// True if it ran, or waited for a CPU, when it was read.
    pub runnable: bool,
    /// The CPU that it runs or waits on, or last ran on, if known.
    pub cpu: Option<u32>,
    /// The CPUs that it may run on.
    pub allowed: CpuList,
    /// The size of its locked memory (mlock), kB.
    pub locked_kb: u64,
}

impl Task {
    /// Returns true for SCHED_FIFO and SCHED_RR.
    pub fn is_realtime(&self) -> bool {
        matches!(self.policy, Some(1 | 2))
    }

    /// Returns true for SCHED_OTHER, SCHED_BATCH and SCHED_IDLE.
    pub fn is_fair(&self) -> bool {
        matches!(self.policy, Some(0 | 3 | 5))
    }

    /// The CPUs that it may run on, as evidence.
    pub(crate) fn affinity(&self) -> Evidence {
        let value = format!("Cpus_allowed_list: {} ({})", self.allowed, self.name);
        Evidence { file: self.file.clone(), value }
    }

    /// The priority, as evidence.
    pub(crate) fn rank(&self) -> Evidence {
        Evidence { file: self.file.clone(), value: format!("priority {} ({})", self.priority, self.name) }
    }

    /// Returns true for SCHED_DEADLINE.
    pub fn is_deadline(&self) -> bool {
        self.policy == Some(6)
    }
}

pub(super) fn read(files: &Snapshot) -> Vec<Task> {
    let mut tasks: Vec<Task> =
        files.matching(TASK_STAT).filter_map(|(path, stat)| task(files, path, stat)).collect();
    tasks.sort_by_key(|task| task.tid);
    tasks
}

fn task(files: &Snapshot, path: &str, stat: &str) -> Option<Task> {
    let folder = path.strip_suffix("/stat")?;
    let (pid, tid) = folder.strip_prefix("/proc/")?.split_once("/task/")?;
    // The name is in parentheses and may contain any character, parentheses too.
    let (name, fields) = (stat.split_once('(')?.1).rsplit_once(')')?;
    // `fs/proc/array.c: do_task_stat`: state, ppid, pgrp, session, tty_nr, tpgid, flags.
    let field = |number: usize| fields.split_ascii_whitespace().nth(number - 3)?.parse::<u64>().ok();
    let flags = field(9)?;
    let status = format!("{folder}/{}", TASK_STATUS.rsplit('/').next()?);
    let said = |name: &str| files.text(&status)?.lines().find_map(|line| line.strip_prefix(name));
    let allowed = said("Cpus_allowed_list:")?;
    let locked = said("VmLck:").and_then(|text| text.trim().strip_suffix("kB")?.trim().parse().ok());
    Some(Task {
        file: status.clone(),
        pid: pid.parse().ok()?,
        tid: tid.parse().ok()?,
        name: clean_line(name),
        kernel: flags & PF_KTHREAD != 0,
        policy: field(41),
        priority: field(40).unwrap_or(0),
        cpu: field(39).and_then(|cpu| cpu.try_into().ok()),
        runnable: fields.split_ascii_whitespace().next() == Some("R"),
        movable: flags & PF_NO_SETAFFINITY == 0,
        allowed: allowed.trim().parse().ok()?,
        locked_kb: locked.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Content;

    #[test]
    fn name_may_hold_parentheses() {
        let mut files = Snapshot::default();
        let stat = "12 (a) (b)) S 2 0 0 0 -1 69238848 0 0 0 0";
        files.insert("/proc/12/task/12/stat", Content::Text(stat.into()));
        files.insert("/proc/12/task/12/status", Content::Text("Cpus_allowed_list:\t0-1\n".into()));
        let task = &read(&files)[0];
        assert_eq!((task.name.as_str(), task.tid, task.kernel, task.movable), ("a) (b)", 12, true, false));
        assert_eq!(task.allowed.to_string(), "0-1");
    }

    #[test]
    fn name_is_one_line_of_text() {
        let mut files = Snapshot::default();
        let stat = "12 (a\nid>/own\n#\x1b[2J) S 2 0 0 0 -1 0 0 0 0 0";
        files.insert("/proc/12/task/12/stat", Content::Text(stat.into()));
        files.insert("/proc/12/task/12/status", Content::Text("Cpus_allowed_list:\t0-1\n".into()));
        assert_eq!(read(&files)[0].name, "a id>/own #\u{fffd}[2J");
    }
}
