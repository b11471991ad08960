// SPDX-License-Identifier: GPL-2.0-only
//! The purposes of changes, in words, and the privileges that they need.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A group of changes with one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The cpuset partition.
    Partition,
    /// The affinities of threads.
    Threads,
    /// The interrupts of devices.
    Interrupts,
    /// The unbound work items.
    Workqueues,
    /// The lockup watchdogs.
    Watchdog,
    /// The folding of the memory statistics.
    VmStat,
    /// The balancing of memory between NUMA nodes.
    NumaBalancing,
    /// The polling for corrected machine checks.
    MachineCheck,
    /// The receive packet steering.
    PacketSteering,
    /// The idle states.
    IdleStates,
    /// The deadline servers of the fair class and of BPF schedulers.
    FairServer,
    /// The expedited grace periods.
    Rcu,
    /// The recording that makes the proof.
    Trace,
}

impl Subject {
    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Partition => "cpuset partition",
            Subject::Threads => "threads",
            Subject::Interrupts => "device interrupts",
            Subject::Workqueues => "workqueues",
            Subject::Watchdog => "watchdogs",
            Subject::VmStat => "vm statistics",
            Subject::NumaBalancing => "NUMA balancing",
            Subject::MachineCheck => "machine checks",
            Subject::PacketSteering => "packet steering",
            Subject::IdleStates => "idle states",
            Subject::FairServer => "fair server",
            Subject::Rcu => "RCU",
            Subject::Trace => "recording",
        }
    }

    /// The reason for the change. Sources are in the book, `isolate.md`.
    pub fn why(self) -> &'static str {
        match self {
            Subject::Partition => "no other task is scheduled on, or balanced to, these CPUs",
            Subject::Threads => "movable threads run on the other CPUs",
            Subject::Interrupts => "devices interrupt the other CPUs",
            Subject::Workqueues => "unbound work items, writeback's among them, run on the other CPUs",
            Subject::Watchdog => "no watchdog timer (every 4 s) and no watchdog NMI on these CPUs",
            Subject::VmStat => "per-CPU counters are folded every 60 s only",
            Subject::NumaBalancing => "no page faults and no TLB flushes for NUMA balancing",
            Subject::MachineCheck => "no timer that polls for corrected errors (every 300 s)",
            Subject::PacketSteering => "packets are processed on the other CPUs",
            Subject::IdleStates => "a wake-up does not wait for the exit from a deep idle state",
            Subject::FairServer => "from 6.12 until 7.2 its timer restarts the tick once a second",
            Subject::Rcu => "expedited grace periods interrupt CPUs; normal ones wait for them",
            Subject::Trace => "proof: every interruption of these CPUs is recorded",
        }
    }

    /// The privilege that the change needs.
    pub fn needs(self) -> &'static str {
        match self {
            Subject::Partition => "root, or a control group delegated to you; moving tasks: CAP_SYS_NICE",
            Subject::Threads => "CAP_SYS_NICE for threads of other users",
            Subject::Watchdog | Subject::VmStat | Subject::NumaBalancing => "root (sysctl)",
            _ => "root, or CAP_DAC_OVERRIDE",
        }
    }
}
