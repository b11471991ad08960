// SPDX-License-Identifier: GPL-2.0-only
//! One interruption before the rules: its facts, and the questions that several rules ask.

use crate::facts::{Entry, Facts, Kept, Newcomer, Origin, Place, Send, TimerRun, WorkRun};
use crate::log::Log;
use crate::{Arrived, CauseId, Class, Context, Kind, Step, Task, names};
use dyntick_model::{Interrupt, TickDependency};

/// An interruption to which rules are applied.
pub(crate) struct Case<'a> {
    pub context: &'a Context,
    pub log: &'a Log,
    pub facts: &'a Facts,
    pub kind: &'a Kind,
    pub timekeeper: Option<u32>,
    arrival: Option<Arrival<'a>>,
    dependency: Option<TickDependency>,
}

/// The result of a rule that covers a case.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub cause: CauseId,
    pub chain: Vec<Step>,
}

impl Finding {
    /// Creates a finding from a cause and its chain, from origin to interruption.
    pub fn new(cause: CauseId, chain: impl IntoIterator<Item = Step>) -> Option<Self> {
        Some(Self { cause, chain: chain.into_iter().collect() })
    }
}

/// A newcomer to a CPU, in addition to the running task.
#[derive(Clone, Copy)]
pub(crate) enum Arrival<'a> {
    /// The deadline server of the fair class.
    FairServer,
    /// A worker with a work item.
    Work { work: &'a WorkRun, worker: &'a Task },
    /// Another kernel thread.
    KernelThread(&'a Newcomer),
    /// A user task.
    UserTask(&'a Newcomer),
}

/// The entry point into the kernel that the facts show.
pub(crate) fn kind_of(facts: &Facts, log: &Log) -> Kind {
    let timer = facts.tick.is_some() || !facts.hrtimers.is_empty();
    match &facts.entry {
        Entry::Vector(Interrupt::Timer) => timer_kind(facts),
        Entry::Vector(Interrupt::Reschedule) => Kind::Reschedule,
        Entry::Vector(Interrupt::FunctionCall | Interrupt::FunctionCallSingle) => Kind::FunctionCall,
        Entry::Vector(Interrupt::IrqWork) => Kind::IrqWork,
        // The timer is an ordinary interrupt line, e.g. on arm64.
        Entry::Vector(Interrupt::Other) | Entry::Device { .. } if timer => timer_kind(facts),
        Entry::Vector(vector) => Kind::OtherVector { vector: *vector },
        Entry::Nmi(handler) => Kind::Nmi { handler: handler.clone() },
        Entry::PageFault { user } => Kind::PageFault { user: *user },
        Entry::Device { irq, name } => Kind::Device { irq: *irq, name: name.clone() },
        Entry::Softirq(softirq) => Kind::Softirq { softirq: *softirq },
        Entry::Turn(task) if names::is_worker(&task.comm) => Kind::WorkItem,
        Entry::Turn(task) if log.is_kernel_thread(task) => Kind::KernelThread,
        Entry::Turn(task) if log.is_commands(task) => Kind::CommandTask,
        Entry::Turn(_) => Kind::OtherTask,
    }
}

fn timer_kind(facts: &Facts) -> Kind {
    match facts.tick {
        Some(tick) if tick.periodic => Kind::Tick,
        Some(_) => Kind::TimerWheel,
        None if facts.hrtimers.is_empty() => Kind::EmptyTimer,
        None => Kind::Hrtimer,
    }
}

/// A worker whose first work item matters and was not seen yet.
pub(crate) fn awaited_worker(facts: &Facts, kind: &Kind, log: &Log) -> Option<i32> {
    let kept = facts.kept.as_ref();
    let newcomers = match kind {
        Kind::Tick => &kept.filter(|kept| kept.dependency == TickDependency::Sched)?.others,
        Kind::Reschedule | Kind::FunctionCall | Kind::IrqWork => &facts.newcomers,
        _ => return None,
    };
    let workers = newcomers.iter().filter(|newcomer| names::is_worker(&newcomer.task.comm));
    let mut workers = workers.map(|worker| worker.task.pid);
    workers.find(|pid| log.work_after(*pid, wanted_since(facts)).is_none())
}

/// The time from which on a newcomer may run the work for which it came.
fn wanted_since(facts: &Facts) -> u64 {
    facts.kept.as_ref().map_or(facts.start_ns, |kept| kept.since_ns).min(facts.start_ns)
}

impl<'a> Case<'a> {
    /// Creates a case, with the answers that nearly every rule needs.
    pub fn new(
        context: &'a Context,
        log: &'a Log,
        facts: &'a Facts,
        kind: &'a Kind,
        timekeeper: Option<u32>,
    ) -> Self {
        let mut case = Self { context, log, facts, kind, timekeeper, arrival: None, dependency: None };
        case.arrival = case.find_arrival();
        case.dependency = case.find_dependency();
        case
    }

    /// Returns true if the CPU may stop its tick while it is busy.
    pub fn adaptive(&self) -> bool {
        self.context.nohz_full.contains(self.facts.cpu)
    }

    /// Returns true if the CPU was idle.
    pub fn idle(&self) -> bool {
        self.facts.victim.pid == 0
    }

    /// The CPU.
    pub fn cpu(&self) -> u32 {
        self.facts.cpu
    }

    /// The dependency of an adaptive CPU's tick: the one that kept it if it ran, else the one for which this interrupt
    /// restarted it.
    pub fn dependency(&self) -> Option<TickDependency> {
        self.dependency
    }

    fn find_dependency(&self) -> Option<TickDependency> {
        match (self.kind, self.facts.decision) {
            (Kind::Tick, _) => self.facts.kept.as_ref().map(|kept| kept.dependency),
            (Kind::FunctionCall | Kind::IrqWork, Some(decision)) => {
                let because = decision.restarted || decision.newly_kept || self.facts.is_kick();
                (because && !decision.stopped).then_some(decision.dependency)
            }
            _ => None,
        }
        .filter(|_| self.adaptive())
    }

    /// The task that ran when the tick was last kept, or else the running task.
    pub fn kept_by(&self) -> &Task {
        self.facts.kept.as_ref().map_or(&self.facts.victim, |kept| &kept.current)
    }

    /// Returns true if no other task was seen that wants the CPU, and one would have been.
    pub fn is_alone(&self, kept: &Kept) -> bool {
        kept.others.is_empty() && !kept.fair_server && self.shows_competitors()
    }

    /// Returns true if the trace shows the tasks that want the CPU in addition to the running one.
    pub fn shows_competitors(&self) -> bool {
        let recorded = &self.context.known.recorded;
        recorded.has_switches() && recorded.has_wakeups()
    }

    /// The class of that task, if it is known.
    pub fn class(&self) -> Option<Class> {
        self.context.known.classes.get(&self.kept_by().pid).copied()
    }

    /// The first expired timer that may wake a CPU. A deferrable timer runs in any tick and causes none.
    pub fn due_timer(&self) -> Option<&'a TimerRun> {
        self.facts.timers.iter().find(|timer| !timer.deferrable)
    }

    /// The newcomer that interrupted this CPU.
    pub fn arrival(&self) -> Option<Arrival<'a>> {
        self.arrival
    }

    fn find_arrival(&self) -> Option<Arrival<'a>> {
        let facts = self.facts;
        match self.kind {
            Kind::WorkItem => match &facts.entry {
                Entry::Turn(worker) => facts.works.first().map(|work| Arrival::Work { work, worker }),
                _ => None,
            },
            Kind::Tick => {
                let kept = facts.kept.as_ref().filter(|kept| kept.dependency == TickDependency::Sched)?;
                if kept.fair_server && self.shows_wakeups() {
                    return Some(Arrival::FairServer);
                }
                self.foremost(&kept.others)
            }
            Kind::Reschedule | Kind::FunctionCall | Kind::IrqWork => {
                let woke_none = facts.newcomers.is_empty() && self.shows_wakeups();
                if woke_none && facts.sent_by_fair_server() && self.context.at_least(6, 12) {
                    return Some(Arrival::FairServer);
                }
                self.foremost(&facts.newcomers)
            }
            _ => None,
        }
    }

    /// Returns true if an interruption without an observed wake-up woke no task.
    pub fn shows_wakeups(&self) -> bool {
        self.context.known.recorded.has_wakeups()
    }

    /// The newcomer from the recorded command, if there is no other.
    pub fn commands_arrival(&self) -> Option<&'a Newcomer> {
        match self.arrival()? {
            Arrival::UserTask(newcomer) if self.log.is_commands(&newcomer.task) => Some(newcomer),
            _ => None,
        }
    }

    /// The current user task, if only tasks of the recorded command compete with it.
    pub fn beside_command(&self) -> Option<&'a Task> {
        self.commands_arrival().filter(|_| *self.kind == Kind::Tick)?;
        let current = &self.facts.kept.as_ref()?.current;
        let is_foreign =
            current.pid != 0 && !self.log.is_commands(current) && !self.log.is_kernel_thread(current);
        is_foreign.then_some(current)
    }

    /// The one that set the first timer that a thread of the kernel ran in its time slice, e.g. ktimers/N.
    pub fn setter(&self) -> Option<&'a Origin> {
        if *self.kind != Kind::KernelThread {
            return None;
        }
        let hrtimer = self.facts.hrtimers.first().map(|timer| &timer.set_by);
        hrtimer.or_else(|| self.facts.timers.first().map(|timer| &timer.set_by))?.as_ref()
    }

    /// The task that got a time slice, came to this CPU, or was woken by a timer. For a thread of the kernel that ran
    /// timers it is the user task that set them, since only that can be moved.
    pub fn other(&self) -> Option<&'a Task> {
        let is_others =
            |task: &&Task| task.pid > 0 && !self.log.is_kernel_thread(task) && !self.log.is_commands(task);
        let setter = self.setter().filter(|by| by.place == Place::Task).map(|by| &by.task).filter(is_others);
        let turn = setter.or_else(|| self.facts.turn()).or_else(|| self.beside_command());
        turn.or_else(|| self.newcomer()).or(self.facts.woken.as_ref())
    }

    fn newcomer(&self) -> Option<&'a Task> {
        match self.arrival()? {
            Arrival::FairServer => None,
            Arrival::Work { worker, .. } => Some(worker),
            Arrival::KernelThread(newcomer) | Arrival::UserTask(newcomer) => Some(&newcomer.task),
        }
    }

    /// The actor that led to it: the sender of the interrupt, or the one that set the timer, queued the work or woke
    /// the task.
    pub fn origin(&self) -> Option<&'a Origin> {
        let facts = self.facts;
        let woken_by = |newcomers: &'a [Newcomer]| newcomers.last()?.woken_by.as_ref();
        match self.kind {
            Kind::Tick => {
                let kept = facts.kept.as_ref().filter(|kept| kept.dependency == TickDependency::Sched)?;
                woken_by(&kept.others)
            }
            Kind::TimerWheel => self.due_timer()?.set_by.as_ref(),
            Kind::Hrtimer => facts.hrtimers.first()?.set_by.as_ref(),
            Kind::Softirq { .. } => facts.timers.first()?.set_by.as_ref(),
            Kind::Reschedule | Kind::FunctionCall | Kind::IrqWork => {
                let calls = facts.called.iter().chain(&facts.irq_works).filter_map(|call| call.by.as_ref());
                let sent = calls.chain(&facts.senders).last().map(|send| &send.origin);
                sent.or_else(|| woken_by(&facts.newcomers))
            }
            Kind::WorkItem => {
                let queued = facts.works.first().and_then(|work| work.queued_by.as_ref());
                queued.or(facts.turn_by.as_ref())
            }
            Kind::KernelThread | Kind::OtherTask | Kind::CommandTask => {
                self.setter().or(facts.turn_by.as_ref())
            }
            _ => None,
        }
    }

    /// The newcomer that explains most, in this order: a work item, a kernel thread, a user task, a task of the
    /// command.
    fn foremost(&self, newcomers: &'a [Newcomer]) -> Option<Arrival<'a>> {
        let arrivals = newcomers.iter().map(|newcomer| self.arrival_of(newcomer));
        arrivals.min_by_key(|arrival| match arrival {
            Arrival::FairServer => 0,
            Arrival::Work { .. } => 1,
            Arrival::KernelThread(_) => 2,
            Arrival::UserTask(newcomer) if !self.log.is_commands(&newcomer.task) => 3,
            Arrival::UserTask(_) => 4,
        })
    }

    fn arrival_of(&self, newcomer: &'a Newcomer) -> Arrival<'a> {
        let task = &newcomer.task;
        if names::is_worker(&task.comm) {
            if let Some(work) = self.log.work_after(task.pid, wanted_since(self.facts)) {
                return Arrival::Work { work, worker: task };
            }
        }
        if self.log.is_kernel_thread(task) {
            Arrival::KernelThread(newcomer)
        } else {
            Arrival::UserTask(newcomer)
        }
    }

    /// The last step of a chain about a second task: its effect on this CPU.
    pub fn effect(&self, arrived: Arrived) -> Step {
        let cpu = self.cpu();
        match self.kind {
            Kind::Tick => Step::KeptTickFor { arrived, current: self.kept_by().clone(), cpu },
            Kind::WorkItem | Kind::KernelThread if self.idle() => Step::RanInIdle { arrived, cpu },
            Kind::WorkItem | Kind::KernelThread | Kind::OtherTask | Kind::CommandTask => {
                Step::RanInsteadOf { arrived, victim: self.facts.victim.clone(), cpu }
            }
            _ => {
                let restarted_tick = self.facts.decision.is_some_and(|decision| decision.restarted);
                Step::InterruptedFor { arrived, cpu, restarted_tick }
            }
        }
    }
}

/// The step that names the sender of the interrupt and the kernel function.
pub(crate) fn sent_by(send: &Send) -> Step {
    Step::Sent { by: (&send.origin).into(), callsite: send.callsite.clone() }
}
