// SPDX-License-Identifier: GPL-2.0-only
//! What was seen of one interruption, before anybody asks for its cause.

use crate::stack::Slot;
use crate::{Actor, Source, Task};
use dyntick_model::{Event, Interrupt, Role, Softirq, Symbol, TickDependency};
use std::sync::Arc;

/// One of millions: a list of them that grows moves pointers, and each can be given up on its own.
pub(crate) type Boxed = Box<Facts>;

/// One interruption as observed.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub cpu: u32,
    /// Its place among the interruptions of its CPU, in the order in which they ended.
    pub order: u64,
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
    /// The first work item that it queued.
    pub queued: Option<Symbol>,
    /// Work items that ran in it.
    pub works: Vec<WorkRun>,
    /// Functions that another CPU asked for.
    pub called: Vec<Call>,
    /// Functions that had been queued for interrupt context, here or from another CPU.
    pub irq_works: Vec<Call>,
    pub raised: Vec<Softirq>,
    /// The first softirq that a thread ran in its turn, for interrupts that left it over.
    pub left_over: Option<Softirq>,
    /// The first task that it woke, on whichever CPU.
    pub woken: Option<Task>,
    /// Tasks that had been woken to run on this CPU and had not run yet when it ended.
    pub newcomers: Vec<Newcomer>,
    /// The handler of an NMI that came just before; it may have left work for interrupt context.
    pub after_nmi: Option<Symbol>,
    /// Who made the task runnable whose turn it is, where it has not run since.
    pub turn_by: Option<Origin>,
    /// The other CPUs that sent the interrupt.
    pub senders: Vec<Send>,
    /// What had kept the tick when it began.
    pub kept: Option<Arc<Kept>>,
    /// The decision on the tick that was taken at its end.
    pub decision: Option<Decision>,
    /// The raw events, the first few.
    pub events: Vec<Event>,
}

/// How the CPU was taken from its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Vector(Interrupt),
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

/// Who did something: the innermost timer, work item or handler that ran, else the interrupt or softirq, else the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub cpu: u32,
    /// The task that ran, or was interrupted.
    pub task: Task,
    pub function: Option<Symbol>,
    pub place: Place,
    /// Where that was, where stacks are recorded.
    pub stack: Option<Slot>,
}

/// In which context something was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    #[default]
    Task,
    /// In a softirq, with which, if that was seen.
    Softirq(Option<Softirq>),
    /// In an interrupt, with what sent it, if that was seen.
    Interrupt(Option<Source>),
}

impl Origin {
    /// What its function is known for.
    fn role(&self) -> Option<Role> {
        self.function.as_ref().and_then(|function| Role::of(function))
    }
}

impl From<&Origin> for Actor {
    fn from(origin: &Origin) -> Self {
        let cpu = origin.cpu;
        match (&origin.function, &origin.place) {
            (Some(function), _) => Actor::Function { function: function.clone(), cpu },
            (None, Place::Task) => Actor::Task { task: origin.task.clone(), cpu },
            (None, Place::Softirq(softirq)) => Actor::Softirq { softirq: *softirq, cpu },
            (None, Place::Interrupt(source)) => Actor::Interrupt { source: source.clone(), cpu },
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
    /// Nothing yet of an interruption that begins.
    pub fn new(cpu: u32, start_ns: u64, entry: Entry, victim: Task, kept: Option<Arc<Kept>>) -> Self {
        Self {
            cpu,
            order: 0,
            start_ns,
            duration_ns: 0,
            entry,
            victim,
            tick: None,
            hrtimers: Vec::new(),
            timers: Vec::new(),
            queued: None,
            works: Vec::new(),
            called: Vec::new(),
            irq_works: Vec::new(),
            raised: Vec::new(),
            left_over: None,
            woken: None,
            newcomers: Vec::new(),
            after_nmi: None,
            turn_by: None,
            senders: Vec::new(),
            kept,
            decision: None,
            events: Vec::new(),
        }
    }

    /// The task whose turn it is.
    pub fn turn(&self) -> Option<&Task> {
        match &self.entry {
            Entry::Turn(task) => Some(task),
            _ => None,
        }
    }

    /// Whether it was sent by the deadline server of the fair class, which wakes no task.
    pub fn sent_by_fair_server(&self) -> bool {
        self.senders.iter().any(|send| send.origin.role() == Some(Role::DeadlineTimer))
    }

    /// Whether another CPU sent it, for another reason than a function call that is known.
    pub fn is_from_another_cpu(&self) -> bool {
        let vectors = [Interrupt::Reschedule, Interrupt::FunctionCallSingle, Interrupt::FunctionCall];
        let sent = matches!(self.entry, Entry::Vector(vector) if vectors.contains(&vector));
        sent && self.called.is_empty()
    }

    /// The timer of a deadline entity that ran in it, as who makes a task runnable: of a deadline task, which
    /// then gets the CPU, or of the fair server.
    pub fn deadline_timer(&self) -> Option<Origin> {
        let is_deadline = |timer: &&HrtimerRun| Role::of(&timer.function) == Some(Role::DeadlineTimer);
        let function = Some(self.hrtimers.iter().find(is_deadline)?.function.clone());
        let (place, task) = (Place::Interrupt(None), self.victim.clone());
        Some(Origin { cpu: self.cpu, task, function, place, stack: None })
    }

    /// Whether it only came so that the tick is decided on again.
    pub fn is_kick(&self) -> bool {
        self.irq_works.iter().any(|work| Role::of(&work.function) == Some(Role::TickKick))
    }

    /// Whether it woke the CPU for timers that did not run within it.
    pub fn awaits_timers(&self) -> bool {
        self.tick == Some(TickRun { periodic: false })
            && self.timers.is_empty()
            && self.raised.contains(&Softirq::Timer)
    }
}
