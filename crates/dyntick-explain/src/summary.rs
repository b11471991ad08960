// SPDX-License-Identifier: GPL-2.0-only
//! The figures of one CPU.

use crate::{CauseId, Chain};
use dyntick_model::{Interrupt, Softirq, Symbol, TickDependency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The interruptions of one CPU in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The CPU.
    pub cpu: u32,
    /// Length of the window, s.
    pub seconds: f64,
    /// Periodic ticks.
    pub ticks: u64,
    /// Periodic ticks per second.
    pub ticks_per_second: f64,
    /// Ticks per second as a share of HZ: 1 for a CPU that ticks all the time.
    pub share_of_hz: f64,
    /// Local timer interrupts: ticks and all other timers, like LOC in `/proc/interrupts`.
    pub local_timer: u64,
    /// Local timer interrupts per second.
    pub local_timer_per_second: f64,
    /// Interruptions: interrupts, NMIs, softirqs and time slices of kernel threads.
    pub interruptions: u64,
    /// Time in interruptions, ns.
    pub interrupted_ns: u64,
    /// Page faults of the task that had the CPU, which are no interruptions.
    pub page_faults: u64,
    /// Time slices of other user tasks while the task that had the CPU wanted it, which are no interruptions.
    pub other_tasks: u64,
    /// Time in those, ns.
    pub other_tasks_ns: u64,
    /// Time slices of tasks of the recorded command while another one of it wanted the CPU, which are no interruptions.
    pub command_tasks: u64,
    /// Time in those, ns.
    pub command_tasks_ns: u64,
    /// Interruptions, page faults and time slices of other user tasks and of the command, by the entry point into the
    /// kernel (`Kind::name`).
    pub by_kind: BTreeMap<String, u64>,
    /// The same by cause, the most frequent first.
    pub by_cause: Vec<CauseCount>,
    /// Hrtimers that expired, by function.
    pub hrtimers: BTreeMap<Symbol, u64>,
    /// Timer-wheel timers that expired, by function.
    pub timers: BTreeMap<Symbol, u64>,
    /// Work items that ran, by function.
    pub works: BTreeMap<Symbol, u64>,
    /// Softirqs that ran.
    pub softirqs: BTreeMap<Softirq, u64>,
    /// Interrupt vectors taken, without device interrupts.
    pub vectors: BTreeMap<Interrupt, u64>,
    /// Functions that other CPUs called here (kernels from 6.5 on report them).
    pub called_functions: BTreeMap<Symbol, u64>,
    /// Device interrupts, by name.
    pub devices: BTreeMap<Symbol, u64>,
    /// Context switches.
    pub context_switches: u64,
    /// Decisions on the tick: `tick_stop` events.
    pub tick_stops: Vec<TickStopCount>,
    /// Interruptions whose origin could not be named.
    pub unattributed: u64,
    /// Share of the interruptions whose origin could not be named, 0 to 1; 0 if there was none.
    pub unattributed_share: f64,
    /// Share of the interrupted time whose origin could not be named, 0 to 1.
    pub unattributed_time_share: f64,
}

/// The interruptions of a CPU by one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CauseCount {
    /// The cause.
    pub cause: CauseId,
    /// Interruptions, page faults and time slices of other user tasks and of the command.
    pub count: u64,
    /// Interruptions among them.
    pub interruptions: u64,
    /// Ticks among those.
    pub ticks: u64,
    /// Time in them, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// The functions that ran in them, with counts.
    pub functions: BTreeMap<Symbol, u64>,
    /// The most frequent chain of causation, from origin to interruption; that of a tick, if the
    /// cause has any.
    pub chain: Chain,
}

/// The number of `tick_stop` events with one outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TickStopCount {
    /// True if the tick was stopped.
    pub success: bool,
    /// The dependency that kept it, if not.
    pub dependency: TickDependency,
    /// The number of events.
    pub count: u64,
}

impl Summary {
    /// The number of all that `by_cause` has.
    pub fn listed(&self) -> u64 {
        self.interruptions + self.page_faults + self.other_tasks + self.command_tasks
    }

    /// The figures of one cause.
    pub fn cause(&self, name: &str) -> Option<&CauseCount> {
        self.by_cause.iter().find(|count| count.cause == *name)
    }
}
