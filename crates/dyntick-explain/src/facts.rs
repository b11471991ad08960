// SPDX-License-Identifier: GPL-2.0-only
//! What was seen of one interruption, before anybody asks for its cause.

use crate::Task;
use dyntick_model::{Softirq, Symbol, TickDependency, Vector};
use std::sync::Arc;

/// What only has a CPU decide on its tick again, and is queued like a function of its own.
pub(crate) const KICK: &str = "nohz_full_kick_func";

/// One of millions: a list of them that grows moves pointers, and each can be given up on its own.
pub(crate) type Boxed = Box<Facts>;

/// One interruption as observed.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub cpu: u32,
    pub start_ns: u64,
    pub duration_ns: u64,
    pub entry: Entry,
    pub victim: Task,
    /// The tick's own timer expired in it.
    pub tick: Option<TickRun>,
    /// Other hrtimers that expired.
    pub hrtimers: Vec<HrtimerRun>,
    /// Timer-wheel timers that expired.
    pub timers: Vec<TimerRun>,
    /// Work items that it queued.
    pub queued: Vec<Symbol>,
    /// Work items that ran in it.
    pub works: Vec<WorkRun>,
    /// Functions that another CPU asked for.
    pub called: Vec<Call>,
    /// Functions that had been queued for interrupt context, here or from another CPU.
    pub irq_works: Vec<Call>,
    pub raised: Vec<Softirq>,
    /// Softirqs that a thread ran in its turn, for interrupts that left them over.
    pub left_over: Vec<Softirq>,
    /// Tasks that it woke, on whichever CPU.
    pub woken: Vec<Task>,
    /// Tasks that had been woken to run on this CPU and had not run yet when it ended.
    pub newcomers: Vec<Newcomer>,
    /// The handler of an NMI that came just before; it may have left work for interrupt context.
    pub after_nmi: Option<Symbol>,
    /// The other CPUs that sent the interrupt.
    pub senders: Vec<Send>,
    /// What had kept the tick when it began.
    pub kept: Option<Arc<Kept>>,
    /// The decision on the tick that was taken at its end.
    pub decision: Option<Decision>,
    /// Positions of the raw events, the first few.
    pub events: Vec<usize>,
}

/// How the CPU was taken from its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Vector(Vector),
    Device {
        irq: u32,
        name: Symbol,
    },
    Softirq(Softirq),
    /// A non-maskable interrupt, with its handler.
    Nmi(Symbol),
    PageFault {
        user: bool,
    },
    /// The turn of another task.
    Turn(Task),
}

/// An expiry of the tick's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TickRun {
    /// Whether it is part of the periodic tick. If not, the tick was stopped and its timer only
    /// stood in for the next timer of the wheel.
    pub periodic: bool,
}

/// A timer-wheel timer that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimerRun {
    pub function: Symbol,
    /// It may run late, and never wakes a CPU.
    pub deferrable: bool,
    /// Who set it, where that was seen.
    pub set_by: Option<Origin>,
    /// The CPU in whose wheel it was, where that was seen.
    pub base: Option<u32>,
}

/// A work item that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkRun {
    pub function: Symbol,
    /// Who queued it, where that was seen.
    pub queued_by: Option<Origin>,
}

/// A high-resolution timer that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HrtimerRun {
    pub function: Symbol,
    /// Who set it, where that was seen.
    pub set_by: Option<Origin>,
}

/// A function that a CPU was interrupted for, by another one or by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub function: Symbol,
    /// Who asked for it, where that was seen.
    pub by: Option<Send>,
}

/// A task on its way to a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Newcomer {
    pub task: Task,
    /// Who made it runnable, where that was seen.
    pub woken_by: Option<Origin>,
}

/// Who did something: the innermost timer, work item or handler that ran, else the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub cpu: u32,
    pub task: Task,
    pub function: Option<Symbol>,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.function {
            Some(function) => write!(f, "{function} on CPU {}", self.cpu),
            None => write!(f, "{} on CPU {}", self.task, self.cpu),
        }
    }
}

/// An interrupt sent to another CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Send {
    pub ts: u64,
    pub origin: Origin,
    pub callsite: Symbol,
    pub reschedule: bool,
}

/// A decision on the tick, as reported by `tick_stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub stopped: bool,
    pub dependency: TickDependency,
    /// It turned a stopped tick back on.
    pub restarted: bool,
    /// Nothing was known to keep the tick before, and now something does.
    pub newly_kept: bool,
}

/// Why the tick of a `nohz_full` CPU was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub dependency: TickDependency,
    pub since_ns: u64,
    /// The task that ran when it was decided.
    pub current: Task,
    /// The other tasks that wanted the CPU, the first of them.
    pub others: Vec<Newcomer>,
    /// The deadline server of the fair class had just been enqueued.
    pub fair_server: bool,
}

impl Facts {
    /// The task whose turn it is.
    pub fn turn(&self) -> Option<&Task> {
        match &self.entry {
            Entry::Turn(task) => Some(task),
            _ => None,
        }
    }

    /// Whether it was sent by the deadline server of the fair class, which wakes no task.
    pub fn sent_by_fair_server(&self) -> bool {
        self.senders.iter().any(|send| send.origin.function.as_deref() == Some("dl_task_timer"))
    }

    /// Whether another CPU sent it, for another reason than a function call that is known.
    pub fn is_from_another_cpu(&self) -> bool {
        let vectors = [Vector::Reschedule, Vector::CallFunctionSingle, Vector::CallFunction];
        let sent = matches!(self.entry, Entry::Vector(vector) if vectors.contains(&vector));
        sent && self.called.is_empty()
    }

    /// Whether a timer of a deadline entity ran in it: of a deadline task, which then gets the CPU, or
    /// of the fair server.
    pub fn ran_deadline_timer(&self) -> bool {
        self.hrtimers.iter().any(|timer| &*timer.function == "dl_task_timer")
    }

    /// The timer of [`Facts::ran_deadline_timer`] as who makes a task runnable.
    pub fn deadline_timer(&self) -> Origin {
        Origin { cpu: self.cpu, task: self.victim.clone(), function: Some("dl_task_timer".into()) }
    }

    /// Whether it only came so that the tick is decided on again.
    pub fn is_kick(&self) -> bool {
        self.irq_works.iter().any(|work| &*work.function == KICK)
    }

    /// Whether it woke the CPU for timers that did not run within it.
    pub fn awaits_timers(&self) -> bool {
        self.tick == Some(TickRun { periodic: false })
            && self.timers.is_empty()
            && self.raised.contains(&Softirq::Timer)
    }
}
