// SPDX-License-Identifier: GPL-2.0-only
//! What must be known beside the events to explain them.

use dyntick_model::{CpuList, KernelVersion, NANOS_PER_SEC, Symbol};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The kernel and the machine on which the events were recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Ticks per second (`CONFIG_HZ`).
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
    /// The CPU that keeps the time for all others, where it is known. With `nohz_full` it is
    /// otherwise inferred: the lowest housekeeping CPU that ticked in idle and never stopped.
    pub timekeeper: Option<u32>,
    /// Names of threads known beforehand. Events add to them; a task that never switches within
    /// the window has no other.
    pub comms: BTreeMap<i32, Symbol>,
    /// What only the live machine could tell; may be empty.
    pub known: Known,
}

/// Facts that no event carries, read from the machine while it was recorded. All of it may be empty;
/// causes are then told with fewer names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The kernel's own threads. Without them they are told by their names.
    pub kernel_threads: BTreeSet<i32>,
    /// Tasks that have timers or a limit on their CPU time, with what they have.
    pub cpu_timers: BTreeMap<i32, Symbol>,
    /// Who has perf events open.
    pub perf_events: Arc<[PerfOpener]>,
    /// Tasks in a control group with a CPU quota, with the quota.
    pub quotas: BTreeMap<i32, Symbol>,
    /// The clocksource in use.
    pub clocksource: Option<Symbol>,
    /// How tasks are scheduled.
    pub classes: BTreeMap<i32, Class>,
    /// The process that a thread belongs to.
    pub processes: BTreeMap<i32, i32>,
    /// Whether a BPF scheduler is loaded.
    pub bpf_scheduler: bool,
    /// Whether the kernel is built without CONFIG_NO_HZ_FULL.
    pub no_adaptive_ticks: bool,
    /// The command that the recording is about.
    pub command: KnownCommand,
}

/// The command, or the process, that a recording is about. What it takes a CPU for is its own work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownCommand {
    /// Its process, which lives until the recording ends; none where there is no such process.
    pub process: Option<i32>,
    /// Its threads, and those of its descendants, that were seen beside the events. Events of forks add to them.
    pub threads: BTreeSet<i32>,
}

/// A process that has perf events open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PerfOpener {
    /// Its name.
    pub comm: Symbol,
    /// Its number.
    pub process: i32,
    /// How many events.
    pub events: u64,
}

/// The classes of the scheduler, as far as they matter to the tick (`kernel/sched/core.c: sched_can_stop_tick`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, where no sched_ext scheduler has taken these over.
    Fair,
    /// SCHED_FIFO, SCHED_RR.
    RealTime,
    /// SCHED_DEADLINE.
    Deadline,
    /// What a loaded sched_ext scheduler has: SCHED_EXT, or all that would be fair.
    Ext,
}

impl Context {
    /// The period of the tick, ns: `TICK_NSEC` in `include/vdso/jiffies.h`.
    pub fn tick_ns(&self) -> u64 {
        let hz = u64::from(self.hz.max(1));
        (NANOS_PER_SEC + hz / 2) / hz
    }

    /// The length of the window, s.
    pub fn seconds(&self) -> f64 {
        self.window.1.saturating_sub(self.window.0) as f64 / NANOS_PER_SEC as f64
    }

    /// Whether the kernel is of this release or a newer one, as `at_least(6, 12)`.
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        (self.kernel.major, self.kernel.minor) >= (major, minor)
    }
}

#[cfg(test)]
impl Context {
    /// A machine of one CPU of which nothing is known.
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
