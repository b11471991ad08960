// SPDX-License-Identifier: GPL-2.0-only
//! The parts of a step that are more than a name or a number.

use crate::Task;
use dyntick_model::{Interrupt, Softirq, Symbol};

/// The actor of a step: the innermost timer, work item or handler that ran on a CPU, else the interrupt or softirq,
/// else the task there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Actor {
    Function { function: Symbol, cpu: u32 },
    Task { task: Task, cpu: u32 },
    Softirq { softirq: Option<Softirq>, cpu: u32 },
    Interrupt { source: Option<Source>, cpu: u32 },
}

/// The source of an interrupt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A device, by its driver's name for the interrupt.
    Device(Symbol),
    /// A vector of the CPU.
    Vector(Interrupt),
}

/// The competitor of the task that has the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Arrived {
    /// A task.
    Task(Task),
    /// These tasks.
    Tasks(Vec<Task>),
    /// The deadline server of the fair class.
    FairServer,
    /// A competitor that no event shows.
    Unseen(Unseen),
}

impl Arrived {
    /// One task.
    pub fn task(task: &Task) -> Self {
        Self::Task(task.clone())
    }
}

/// The possible reasons for the tick if no second task was seen, in addition to a task from before the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unseen {
    /// True if the trace does not show the tasks that want a CPU, so that it is mostly a second task.
    pub unrecorded: bool,
    /// The quota of a control group.
    pub quota: bool,
    /// A task of SCHED_DEADLINE.
    pub deadline: bool,
    /// A task of a sched_ext scheduler.
    pub sched_ext: bool,
}

/// A timer on the CPU time of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CpuTimer {
    /// A timer that was read from the machine, as a text.
    Known(Symbol),
    /// An interval timer whose arming was seen, by its name in setitimer(2).
    Interval(&'static str),
    /// A timer that only the tick dependency shows.
    Unknown,
}
