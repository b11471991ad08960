// SPDX-License-Identifier: GPL-2.0-only
//! The meaning of the kernel's names.

use dyntick_model::{Role, Symbol, function_of};

/// The function of a symbol with an offset or a suffix.
pub(crate) fn function(symbol: &Symbol) -> Symbol {
    match function_of(symbol) {
        function if function.len() < symbol.len() => function.into(),
        _ => symbol.clone(),
    }
}

/// Returns true for the function of the tick's hrtimer.
pub(crate) fn is_tick(function: &str) -> bool {
    Role::of(function) == Some(Role::Tick)
}

/// The prefixes of kernel threads' names. No event marks a thread as the kernel's.
const KERNEL_THREADS: &[&str] = &[
    "kworker/",
    "ksoftirqd/",
    "ktimers/",
    "migration/",
    "cpuhp/",
    "rcu_",
    "rcuc/",
    "rcub/",
    "rcuog/",
    "rcuop/",
    "rcuos/",
    "rcu_exp",
    "irq/",
    "irq_work/",
    "backlog_napi/",
    "napi/",
    "idle_inject/",
    "watchdog",
    "kthreadd",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "ksmd",
    "kauditd",
    "khungtaskd",
    "kdevtmpfs",
    "oom_reaper",
    "jbd2/",
    "xfsaild/",
    "scsi_eh",
    "pool_workqueue",
    "vhost-",
    "dl_server",
    // Threads that the kernel runs for a program and as part of it.
    "iou-sqp-",
    "iou-wrk-",
];

/// Returns true if a thread of this name is the kernel's.
pub(crate) fn is_kernel_thread(comm: &str) -> bool {
    // Nearly all differ in the first letter.
    let Some(first) = comm.bytes().next() else { return false };
    KERNEL_THREADS.iter().any(|start| start.as_bytes()[0] == first && comm.starts_with(start))
}

/// Returns true if a thread of this name runs work items.
pub(crate) fn is_worker(comm: &str) -> bool {
    comm.starts_with("kworker/")
}

/// The pool of a thread that runs work items: `kworker/1` of `kworker/1:0H`, without the number of the thread.
pub(crate) fn worker_pool(comm: &str) -> &str {
    comm.split(':').next().unwrap_or(comm)
}

/// Returns true for the thread of RCU Tasks Trace. The other threads of RCU serve all CPUs at once, and any task may
/// have begun what they do.
pub(crate) fn is_rcu_tasks_trace(comm: &str) -> bool {
    comm.starts_with("rcu_tasks_trace")
}

/// The per-CPU threads, which are bound to their CPU (`PF_NO_SETAFFINITY`), and the workers of workqueues, whose
/// affinity cannot be set either.
const BOUND: [&str; 10] = [
    "kworker/",
    "ksoftirqd/",
    "ktimers/",
    "migration/",
    "cpuhp/",
    "rcuc/",
    "irq_work/",
    "backlog_napi/",
    "idle_inject/",
    "watchdog/",
];

/// Returns true if a kernel thread of this name cannot be moved.
pub(crate) fn is_bound(comm: &str) -> bool {
    BOUND.iter().any(|start| comm.starts_with(start))
}

/// Returns true if a thread of this name runs unbound work items: its number has the prefix u.
pub(crate) fn is_unbound_worker(comm: &str) -> bool {
    comm.starts_with("kworker/u")
}

/// Returns true if a thread of this name is a stopper, which moves tasks and synchronises all CPUs. It preempts every
/// priority (`kernel/sched/stop_task.c`).
pub(crate) fn is_stopper(comm: &str) -> bool {
    is_of_family(comm, "migration")
}

/// Returns true if a thread of this name runs the softirqs that interrupts have deferred.
pub(crate) fn is_ksoftirqd(comm: &str) -> bool {
    is_of_family(comm, "ksoftirqd")
}

fn is_of_family(comm: &str, family: &str) -> bool {
    comm.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The names of threads that exist per NUMA node or per process, with its number at the end.
const NUMBERED: [&str; 4] = ["kswapd", "kcompactd", "iou-sqp-", "iou-wrk-"];

/// The name without the number of the CPU, the node or the process: `migration/1` belongs to the family `migration`.
pub(crate) fn thread_family(comm: &str) -> &str {
    let family = comm.split('/').next().unwrap_or(comm);
    let numbered = NUMBERED.iter().find(|name| family.starts_with(**name));
    numbered.map_or(family, |name| name.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_suffixes_are_removed() {
        assert_eq!(&*function(&"dl_task_timer+0x1d3/0x9e0".into()), "dl_task_timer");
        assert_eq!(&*function(&"f.isra.0".into()), "f");
        assert_eq!(&*function(&"0xffffffff81000000".into()), "0xffffffff81000000");
    }

    #[test]
    fn kernel_threads_are_recognised_by_name() {
        assert!(is_kernel_thread("kworker/1:0-events"));
        assert!(is_kernel_thread("rcu_preempt"));
        assert!(!is_kernel_thread("postgres"));
        assert!(
            is_bound("rcuc/1") && is_bound("kworker/u8:2") && !is_bound("rcuop/1") && !is_bound("kswapd0")
        );
        assert!(!is_unbound_worker("kworker/1:0H") && is_unbound_worker("kworker/u8:2-writeback"));
        assert_eq!(["kworker/1:0H-x", "kworker/u8:2"].map(worker_pool), ["kworker/1", "kworker/u8"]);
        assert_eq!(thread_family("migration/1"), "migration");
        assert!(is_stopper("migration/1") && is_stopper("migration") && !is_stopper("migrations/1"));
        assert_eq!(thread_family("kcompactd0"), "kcompactd");
        assert_eq!(thread_family("iou-sqp-147"), "iou-sqp");
        assert_eq!(thread_family("jbd2/sda1-8"), "jbd2");
    }
}
