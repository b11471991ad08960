// SPDX-License-Identifier: GPL-2.0-only
//! The facts that are needed in addition to the events to explain them.

use crate::{Recorded, Task};
use dyntick_model::{CpuList, KernelVersion, NANOS_PER_SEC, Symbol};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The kernel and the machine on which the events were recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Ticks per second (`CONFIG_HZ`); 0 if it is not known.
    pub hz: u32,
    /// The CPUs of `nohz_full=` (or `isolcpus=nohz,`).
    pub nohz_full: CpuList,
    /// The CPUs taken out of load balancing by `isolcpus=domain,` or an isolated cpuset partition.
    pub isolated: CpuList,
    /// The CPUs whose RCU callbacks are offloaded, *including* those that `nohz_full=` implies.
    pub rcu_nocbs: CpuList,
    /// All CPUs of the window; one summary is given for each.
    pub cpus: CpuList,
    /// The kernel that ran.
    pub kernel: KernelVersion,
    /// Begin and end of the observation, ns on the events' clock.
    pub window: (u64, u64),
    /// The timekeeper: the CPU that keeps the time for all others, if it is known. With `nohz_full` it is otherwise
    /// inferred: the lowest housekeeping CPU that ticked in idle and never stopped.
    pub timekeeper: Option<u32>,
    /// The names of threads known beforehand. Events add to them, but a task that never switches in the window has no
    /// other name.
    pub comms: BTreeMap<i32, Symbol>,
    /// The facts that only the live machine has; may be empty.
    pub known: Known,
}

/// The facts that no event has, read from the machine during the recording. All may be empty; causes then have fewer
/// names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The kernel's own threads. If unknown, they are recognised by their names.
    pub kernel_threads: BTreeSet<i32>,
    /// The tasks with timers or a limit on their CPU time, and which these are.
    pub cpu_timers: BTreeMap<i32, Symbol>,
    /// The processes that have perf events open.
    pub perf_events: Arc<[PerfOpener]>,
    /// The tasks in a control group with a CPU quota, with the quota.
    pub quotas: BTreeMap<i32, Symbol>,
    /// The groups with a CPU quota that limit a task, by the numbers of their folders, the innermost first.
    pub limits: BTreeMap<i32, Arc<[u64]>>,
    /// The clocksource in use.
    pub clocksource: Option<Symbol>,
    /// The scheduling classes of tasks.
    pub classes: BTreeMap<i32, Class>,
    /// The process that a thread belongs to.
    pub processes: BTreeMap<i32, i32>,
    /// The threads of processes whose threads have many names, with the process's name, under which they are listed: a
    /// row for each would hide the program, e.g. `rustc` for its thread `opt cgu.3`.
    pub crowds: BTreeMap<i32, Symbol>,
    /// True if a BPF scheduler is loaded.
    pub bpf_scheduler: bool,
    /// True if the kernel is built without CONFIG_NO_HZ_FULL.
    pub no_adaptive_ticks: bool,
    /// True if the lists of isolated CPUs and of those with offloaded callbacks are not known, as of another tool's
    /// trace: a CPU that is not in them may still be one.
    pub isolation_unknown: bool,
    /// True if it is not known which CPUs may stop their tick while they are busy.
    pub adaptive_unknown: bool,
    /// The events that the trace can show.
    pub recorded: Recorded,
    /// True if the kernel is known not to throttle real-time tasks.
    pub no_real_time_limit: bool,
    /// The command that the recording is about.
    pub command: KnownCommand,
}

/// The command, or the process, that a recording is about. Its use of a CPU is its own work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownCommand {
    /// Its process, which lives until the recording ends; `None` if there is none.
    pub process: Option<i32>,
    /// Its threads, and those of its descendants, that were read from the machine. Fork events add to them.
    pub threads: BTreeSet<i32>,
}

/// A process that has perf events open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PerfOpener {
    /// Its name.
    pub comm: Symbol,
    /// Its PID.
    pub process: i32,
    /// The number of its events.
    pub events: u64,
}

/// The scheduling classes that the decision on the tick distinguishes (`kernel/sched/core.c: sched_can_stop_tick`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The policies SCHED_OTHER, SCHED_BATCH and SCHED_IDLE, unless a sched_ext scheduler has taken them over.
    Fair,
    /// The policies SCHED_FIFO and SCHED_RR.
    RealTime,
    /// The policy SCHED_DEADLINE.
    Deadline,
    /// The tasks of a loaded sched_ext scheduler: those of SCHED_EXT, or all that would be fair.
    Ext,
}

impl Context {
    /// The period of the tick, ns: `TICK_NSEC` in `include/vdso/jiffies.h`; 0 if it is not known.
    pub fn tick_ns(&self) -> u64 {
        let hz = u64::from(self.hz);
        (NANOS_PER_SEC + hz / 2).checked_div(hz).unwrap_or(0)
    }

    /// The length of the window, s.
    pub fn seconds(&self) -> f64 {
        self.window.1.saturating_sub(self.window.0) as f64 / NANOS_PER_SEC as f64
    }

    /// The name under which a task is listed: its own, or that of its process.
    pub fn program<'a>(&'a self, task: &'a Task) -> &'a Symbol {
        self.known.crowds.get(&task.pid).unwrap_or(&task.comm)
    }

    /// Returns true if the kernel throttles each thread as it returns to user mode, and not all of its run queue.
    pub fn throttles_threads(&self) -> bool {
        throttles_threads(&self.kernel)
    }

    /// Returns true if the kernel is of this release or a newer one, e.g. `at_least(6, 12)`.
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        (self.kernel.major, self.kernel.minor) >= (major, minor)
    }
}

/// Returns true if a kernel throttles each thread as it returns to user mode, and not all of its run queue
/// (`kernel/sched/fair.c: throttle_cfs_rq_work`, 6.18 and newer).
pub fn throttles_threads(kernel: &KernelVersion) -> bool {
    (kernel.major, kernel.minor) >= (6, 18)
}

#[cfg(test)]
impl Context {
    /// A machine of one CPU without known facts.
    pub(crate) fn unknown() -> Self {
        Self {
            hz: 1000,
            nohz_full: CpuList::default(),
            isolated: CpuList::default(),
            rcu_nocbs: CpuList::default(),
            cpus: CpuList::first(1),
            kernel: "6.12.95".parse().unwrap(),
            window: (0, 1),
            timekeeper: None,
            comms: BTreeMap::new(),
            known: Known::default(),
        }
    }
}
