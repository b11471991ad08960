// SPDX-License-Identifier: GPL-2.0-only
//! What is to become of the affinities of threads when the machine is put back.
//!
//! When a cpuset partition comes or goes, the kernel sets the affinity of every thread of the parent
//! anew. Until 6.1 it forgets what the user had set; later kernels keep that, but not what the kernel
//! itself had set for its own threads, nor what `isolcpus=` had (`kernel/cgroup/cpuset.c:
//! update_tasks_cpumask`). So all that is narrower than everything is remembered.

use crate::system::{Task, TaskId};
use dyntick_model::CpuList;
use std::collections::BTreeMap;

/// The affinities in the journal, by thread: before, and while the CPUs are isolated.
pub type Remembered = BTreeMap<TaskId, (CpuList, CpuList)>;

/// What must be set for a thread that stands in the journal; none where it is right or not ours.
///
/// `online` are all CPUs, `isolated` those that were isolated. A thread that has all CPUs, or all
/// that were left, was given them by the kernel when the partition changed; anything else that is
/// not what we set is someone else's.
pub fn after(now: &CpuList, remembered: &(CpuList, CpuList), online: &CpuList, isolated: &CpuList) -> After {
    let (old, new) = remembered;
    let by_kernel = [online.clone(), online.difference(isolated)];
    match () {
        () if now == old => After::Right,
        () if now == new || by_kernel.contains(now) => After::Set(old.clone()),
        () => After::Theirs,
    }
}

/// What to do with the affinity of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing: it is as it was.
    Right,
    /// Set it to this.
    Set(CpuList),
    /// Nothing: someone else has set it.
    Theirs,
}

/// What must be added to the journal before the partition goes, since the kernel will wipe it out:
/// what others have set meanwhile, and what is narrower on threads that came meanwhile.
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
        // What sits on the isolated CPUs is the command's own.
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
    fn what_the_kernel_did_is_undone_and_what_others_did_stays() {
        let known = (cpus("0,3"), cpus("0"));
        let after = |now: &str| after(&cpus(now), &known, &cpus("0-3"), &cpus("3"));
        assert_eq!(after("0,3"), After::Right);
        assert_eq!(after("0"), After::Set(cpus("0,3")));
        assert_eq!(after("0-3"), After::Set(cpus("0,3")), "the partition went");
        assert_eq!(after("0-2"), After::Set(cpus("0,3")), "the partition came");
        assert_eq!(after("1"), After::Theirs);
    }

    #[test]
    fn what_a_vanishing_partition_would_wipe_out_is_adopted() {
        let remembered = Remembered::from([
            (task(2, "0-1", true).id, (cpus("0-1"), cpus("0-1"))),
            (task(10, "", false).id, (cpus("0"), cpus("0"))),
        ]);
        let tasks = [
            task(2, "0-1", true),
            task(10, "1", false),  // moved by its owner
            task(11, "0-2", true), // a new kernel thread, widened by the kernel
            task(12, "0-2", false),
            task(13, "2", false), // new, with an affinity of its own
            task(14, "3", false), // the command
        ];
        let adopted = to_adopt(&tasks, &remembered, &cpus("0-3"), &cpus("3"));
        let shown: Vec<(i32, String)> = adopted.iter().map(|t| (t.id.tid, t.cpus.to_string())).collect();
        assert_eq!(shown, [(10, "1".into()), (11, "0-1".into()), (13, "2".into())]);
    }
}
