// SPDX-License-Identifier: GPL-2.0-only
//! The restoration of thread affinities.
//!
//! When a cpuset partition is created or removed, the kernel resets the affinity of every thread of the parent. Until
//! 6.1 it forgets the user's settings. Later kernels keep those, but neither the kernel's own settings for its threads
//! nor those of `isolcpus=` (`kernel/cgroup/cpuset.c: update_tasks_cpumask`). So every affinity narrower than all CPUs
//! is recorded.

use crate::system::{Task, TaskId};
use dyntick_model::CpuList;
use std::collections::BTreeMap;

/// The affinities in the journal, by thread: before, and during the isolation.
pub type Remembered = BTreeMap<TaskId, (CpuList, CpuList)>;

/// Decides the affinity of a thread in the journal.
///
/// `online` are all CPUs, `isolated` those that were isolated. A thread with all CPUs, or with all remaining ones, got
/// them from the kernel when the partition changed. Any other affinity that dyntick did not set is another program's.
pub fn after(now: &CpuList, remembered: &(CpuList, CpuList), online: &CpuList, isolated: &CpuList) -> After {
    let (old, new) = remembered;
    let by_kernel = [online.clone(), online.difference(isolated)];
    if now == old {
        After::Right
    } else if now == new || by_kernel.contains(now) {
        After::Set(old.clone())
    } else {
        After::Theirs
    }
}

/// The action on the affinity of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// None: it is restored already.
    Right,
    /// Set it to this.
    Set(CpuList),
    /// None: another program has set it.
    Theirs,
}

/// The affinities to add to the journal before the partition is removed, since the kernel will reset them: those that
/// other programs have set meanwhile, and narrower ones of new threads.
pub fn to_adopt(tasks: &[Task], remembered: &Remembered, online: &CpuList, isolated: &CpuList) -> Vec<Task> {
    let left = online.difference(isolated);
    let kernel_threads = tasks.iter().find(|task| task.id.tid == KTHREADD).map(|task| &task.id);
    let of_kernel_threads = kernel_threads.and_then(|id| remembered.get(id)).map(|(old, _)| old.clone());
    let adopt = |task: &Task| {
        let allowed = match remembered.get(&task.id) {
            Some(known) => match after(&task.cpus, known, online, isolated) {
                After::Theirs => task.cpus.clone(),
                _ => return None,
            },
            None if task.cpus == left && task.kernel => of_kernel_threads.clone()?,
            None if task.cpus != left && task.cpus != *online => task.cpus.clone(),
            None => return None,
        };
        // Threads on the isolated CPUs belong to the command.
        let keep = task.movable && !allowed.is_subset(isolated);
        keep.then(|| Task { cpus: allowed, ..task.clone() })
    };
    tasks.iter().filter_map(adopt).collect()
}

/// The parent of all kernel threads.
const KTHREADD: i32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    fn task(tid: i32, list: &str, kernel: bool) -> Task {
        let id = TaskId { tid, start: 7 };
        Task { id, comm: "t".into(), cpus: cpus(list), kernel, movable: true }
    }

    #[test]
    fn kernel_changes_are_undone_and_changes_of_others_stay() {
        let known = (cpus("0,3"), cpus("0"));
        let after = |now: &str| after(&cpus(now), &known, &cpus("0-3"), &cpus("3"));
        assert_eq!(after("0,3"), After::Right);
        assert_eq!(after("0"), After::Set(cpus("0,3")));
        assert_eq!(after("0-3"), After::Set(cpus("0,3")), "the partition went");
        assert_eq!(after("0-2"), After::Set(cpus("0,3")), "the partition came");
        assert_eq!(after("1"), After::Theirs);
    }

    #[test]
    fn affinities_that_a_removed_partition_would_reset_are_adopted() {
        let remembered = Remembered::from([
            (task(2, "0-1", true).id, (cpus("0-1"), cpus("0-1"))),
            (task(10, "", false).id, (cpus("0"), cpus("0"))),
        ]);
        let tasks = [
            task(2, "0-1", true),
            task(10, "1", false),  // moved by its owner
            task(11, "0-2", true), // a new kernel thread, widened by the kernel
            task(12, "0-2", false),
            task(13, "2", false), // new, with its own affinity
            task(14, "3", false), // the command
        ];
        let adopted = to_adopt(&tasks, &remembered, &cpus("0-3"), &cpus("3"));
        let shown: Vec<(i32, String)> = adopted.iter().map(|t| (t.id.tid, t.cpus.to_string())).collect();
        assert_eq!(shown, [(10, "1".into()), (11, "0-1".into()), (13, "2".into())]);
    }
}
