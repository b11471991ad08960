// SPDX-License-Identifier: GPL-2.0-only
//! The facts of one interruption, before its cause is searched for.

use crate::stack::Slot;
use crate::{Actor, Source, Step, Task};
use dyntick_model::{Event, Interrupt, Role, Softirq, Symbol, TickDependency};
use std::sync::Arc;

/// Boxed facts, because there are millions: a growing list moves pointers, and each can be dropped separately.
pub(crate) type Boxed = Box<Facts>;

/// One observed interruption.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub cpu: u32,
    /// Its number among the interruptions of its CPU, in the order of their ends.
    pub order: u64,
    pub start_ns: u64,
    pub duration_ns: u64,
    /// The time of interruptions within it, which are counted separately.
    pub nested_ns: u64,
    pub entry: Entry,
    pub victim: Task,
    /// The expiry of the tick's own timer in it, if any.
    pub tick: Option<TickRun>,
    /// The other hrtimers that expired.
    pub hrtimers: Vec<HrtimerRun>,
    /// The timer-wheel timers that expired.
    pub timers: Vec<TimerRun>,
    /// The first work item that it queued.
    pub queued: Option<Symbol>,
    /// The work items that ran in it.
    pub works: Vec<WorkRun>,
    /// The functions that another CPU had requested.
    pub called: Vec<Call>,
    /// The functions of irq_work, queued here or by another CPU.
    pub irq_works: Vec<Call>,
    pub raised: Vec<Softirq>,
    /// The first softirq that a thread ran in its time slice, for interrupts that had deferred it.
    pub left_over: Option<Softirq>,
    /// The first task that it woke, on any CPU.
    pub woken: Option<Task>,
    /// The tasks that had been woken to run on this CPU and had not run yet when it ended.
    pub newcomers: Vec<Newcomer>,
    /// The handler of an NMI just before it, which may have queued an irq_work.
    pub after_nmi: Option<Symbol>,
    /// The waker of the task that got the time slice, if the task has not run since.
    pub turn_by: Option<Origin>,
    /// The other CPUs that sent the interrupt.
    pub senders: Vec<Send>,
    /// The reason for which the tick was kept when it began.
    pub kept: Option<Arc<Kept>>,
    /// The decision on the tick at its end.
    pub decision: Option<Decision>,
    /// The first few raw events.
    pub events: Vec<Event>,
}

/// The entry by which the CPU was taken from its task.
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
    /// The time slice of another task.
    Turn(Task),
}

/// An expiry of the tick's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TickRun {
    /// True if it is part of the periodic tick. If not, the tick was stopped and its timer was only armed for the next
    /// timer of the wheel.
    pub periodic: bool,
}

/// An expired timer-wheel timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimerRun {
    pub function: Symbol,
    /// True if it may run late and never wakes a CPU.
    pub deferrable: bool,
    /// The one that set it, if seen.
    pub set_by: Option<Origin>,
    /// The CPU whose wheel had it, if seen.
    pub base: Option<u32>,
}

/// A work item that has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkRun {
    pub function: Symbol,
    /// The one that queued it, if seen.
    pub queued_by: Option<Origin>,
}

/// An expired high-resolution timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HrtimerRun {
    pub function: Symbol,
    /// The one that set it, if seen.
    pub set_by: Option<Origin>,
}

/// A function for which a CPU was interrupted, by another CPU or by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub function: Symbol,
    /// The sender of the request, if seen.
    pub by: Option<Send>,
}

/// A task on its way to a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Newcomer {
    pub task: Task,
    /// Its waker, if seen.
    pub woken_by: Option<Origin>,
}

/// The actor of an event: the innermost running timer, work item or handler, else the interrupt or softirq, else the
/// task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub cpu: u32,
    /// The time of the action, ns.
    pub at_ns: u64,
    /// The task that ran or was interrupted.
    pub task: Task,
    pub function: Option<Symbol>,
    pub place: Place,
    /// The call stack, if stacks are recorded.
    pub stack: Option<Slot>,
    /// The one for which it acted, if it is a worker or a thread that acts for others.
    pub behind: Option<Arc<Behind>>,
}

/// The one for which a worker or a thread of the kernel acted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// It queued the work item that ran.
    Queued(Origin),
    /// Its callback waits for the grace period that the thread ends.
    Called(Origin),
}

/// The maximum number of origins behind one another. A work item may queue itself again and again.
const DEEPEST: usize = 4;

impl Behind {
    /// Shares it, unless too many are behind one another.
    pub fn shared(self) -> Option<Arc<Self>> {
        (self.depth() <= DEEPEST).then(|| Arc::new(self))
    }

    fn origin(&self) -> &Origin {
        let (Behind::Queued(origin) | Behind::Called(origin)) = self;
        origin
    }

    fn depth(&self) -> usize {
        1 + self.origin().behind.as_ref().map_or(0, |behind| behind.depth())
    }

    /// Returns the steps from a user's task or a device to the action of `origin`, which it is behind; `None` if they
    /// end elsewhere.
    pub fn steps(&self, origin: &Origin, is_kernels: &impl Fn(&Task) -> bool) -> Option<Vec<Step>> {
        let by = self.origin();
        let mut steps = match &by.behind {
            Some(behind) => behind.steps(by, is_kernels)?,
            None if by.is_an_end(is_kernels) => Vec::new(),
            None => return None,
        };
        let actor = by.into();
        steps.push(match (self, &origin.function) {
            (Behind::Queued(_), Some(function)) => {
                Step::QueuedWork { by: actor, function: function.clone(), cpu: origin.cpu }
            }
            _ => Step::CalledRcuTasksTrace { by: actor },
        });
        Some(steps)
    }
}

/// The context of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    #[default]
    Task,
    /// A softirq, named if seen.
    Softirq(Option<Softirq>),
    /// An interrupt, with its source if seen.
    Interrupt(Option<Source>),
}

impl Origin {
    /// Returns true for a user's task or a device: nothing more is looked for behind it.
    fn is_an_end(&self, is_kernels: &impl Fn(&Task) -> bool) -> bool {
        match &self.place {
            Place::Task => self.task.pid != 0 && !is_kernels(&self.task),
            Place::Interrupt(source) => matches!(source, Some(Source::Device(_))),
            Place::Softirq(_) => false,
        }
    }

    /// The known role of its function.
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

/// An interrupt that was sent to another CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Send {
    pub ts: u64,
    pub origin: Origin,
    pub callsite: Symbol,
    pub reschedule: bool,
}

/// A decision on the tick from a `tick_stop` event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub stopped: bool,
    pub dependency: TickDependency,
    /// True if it restarted a stopped tick.
    pub restarted: bool,
    /// True if the tick is kept now, and no reason was known before.
    pub newly_kept: bool,
}

/// The reason for which the tick of a `nohz_full` CPU was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub dependency: TickDependency,
    pub since_ns: u64,
    /// The task that ran at the decision.
    pub current: Task,
    /// The first of the other tasks that wanted the CPU.
    pub others: Vec<Newcomer>,
    /// True if the deadline server of the fair class had just been enqueued.
    pub fair_server: bool,
}

impl Facts {
    /// Creates empty facts of an interruption that begins.
    pub fn new(cpu: u32, start_ns: u64, entry: Entry, victim: Task, kept: Option<Arc<Kept>>) -> Self {
        Self {
            cpu,
            order: 0,
            start_ns,
            duration_ns: 0,
            nested_ns: 0,
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

    /// The task that got a time slice.
    pub fn turn(&self) -> Option<&Task> {
        match &self.entry {
            Entry::Turn(task) => Some(task),
            _ => None,
        }
    }

    /// Returns true if the deadline server of the fair class sent it, which wakes no task.
    pub fn sent_by_fair_server(&self) -> bool {
        self.senders.iter().any(|send| send.origin.role() == Some(Role::DeadlineTimer))
    }

    /// Returns true if another CPU sent it for another reason than a known function call.
    pub fn is_from_another_cpu(&self) -> bool {
        let vectors = [Interrupt::Reschedule, Interrupt::FunctionCallSingle, Interrupt::FunctionCall];
        let sent = matches!(self.entry, Entry::Vector(vector) if vectors.contains(&vector));
        sent && self.called.is_empty()
    }

    /// The timer of a deadline entity that ran in it, as the waker of a task: of a deadline task, which then gets the
    /// CPU, or of the fair server.
    pub fn deadline_timer(&self) -> Option<Origin> {
        let is_deadline = |timer: &&HrtimerRun| Role::of(&timer.function) == Some(Role::DeadlineTimer);
        let function = Some(self.hrtimers.iter().find(is_deadline)?.function.clone());
        let (place, task) = (Place::Interrupt(None), self.victim.clone());
        let at_ns = self.start_ns;
        Some(Origin { cpu: self.cpu, at_ns, task, function, place, stack: None, behind: None })
    }

    /// Returns true if its only purpose is a new decision on the tick.
    pub fn is_kick(&self) -> bool {
        self.irq_works.iter().any(|work| Role::of(&work.function) == Some(Role::TickKick))
    }

    /// Returns true if it woke the CPU for timers that did not run within it.
    pub fn awaits_timers(&self) -> bool {
        self.tick == Some(TickRun { periodic: false })
            && self.timers.is_empty()
            && self.raised.contains(&Softirq::Timer)
    }
}
