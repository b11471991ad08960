// SPDX-License-Identifier: GPL-2.0-only
//! What a step of a chain speaks of, where that is more than a name or a number.

use crate::Task;
use dyntick_model::{Interrupt, Softirq, Symbol};

/// Who did something: the innermost timer, work item or handler that ran on a CPU, else the interrupt or softirq, else
/// the task there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Actor {
    Function { function: Symbol, cpu: u32 },
    Task { task: Task, cpu: u32 },
    Softirq { softirq: Option<Softirq>, cpu: u32 },
    Interrupt { source: Option<Source>, cpu: u32 },
}

/// Where an interrupt came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A device, by the name that its driver gave.
    Device(Symbol),
    /// A vector of the CPU.
    Vector(Interrupt),
}

/// What wants a CPU beside the task that has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Arrived {
    /// A task.
    Task(Task),
    /// These tasks.
    Tasks(Vec<Task>),
    /// The deadline server of the fair class.
    FairServer,
    /// Something that no event shows.
    Unseen(Unseen),
}

impl Arrived {
    /// One task.
    pub fn task(task: &Task) -> Self {
        Self::Task(task.clone())
    }
}

/// What, beside a task from before the recording, may need the tick where no second task was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unseen {
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
    /// One that was read from the machine, with what it was read as.
    Known(Symbol),
    /// An interval timer that was seen to be armed, as setitimer names it.
    Interval(&'static str),
    /// One that only the tick dependency shows.
    Unknown,
}
