// SPDX-License-Identifier: GPL-2.0-only
//! One interruption before the rules: the facts, and the questions that several rules ask.

use crate::facts::{Entry, Facts, Newcomer, Send, TimerRun, WorkRun};
use crate::log::Log;
use crate::{CauseId, Class, Context, Kind, Task, names};
use dyntick_model::text::beginning;
use dyntick_model::{TickDependency, Vector};

/// What a rule is asked about.
pub(crate) struct Case<'a> {
    pub context: &'a Context,
    pub log: &'a Log,
    pub facts: &'a Facts,
    pub kind: &'a Kind,
    pub timekeeper: Option<u32>,
}

/// What a rule says of a case that it covers.
pub(crate) struct Finding {
    pub cause: CauseId,
    pub chain: Vec<String>,
}

/// A step of a chain has at most so many bytes: one is kept for each interruption, and a record may say that a hundred programs with
/// long names are the cause of all of them.
const LONGEST_STEP: usize = 256;

fn short(mut step: String) -> String {
    if step.len() > LONGEST_STEP {
        step = format!("{}…", beginning(&step, LONGEST_STEP));
    }
    step
}

impl Finding {
    /// A cause with its chain, from origin to interruption.
    pub fn new(cause: CauseId, chain: impl IntoIterator<Item = String>) -> Option<Self> {
        Some(Self { cause, chain: chain.into_iter().map(short).collect() })
    }
}

/// What came to a CPU beside the task that it ran.
pub(crate) enum Arrival<'a> {
    /// The deadline server of the fair class.
    FairServer,
    /// A worker, for a work item.
    Work { work: &'a WorkRun, worker: &'a Task },
    /// Another kernel thread.
    KernelThread(&'a Newcomer),
    /// A user task.
    UserTask(&'a Newcomer),
}

/// The way into the kernel that the facts show.
pub(crate) fn kind_of(facts: &Facts, log: &Log) -> Kind {
    let timer = facts.tick.is_some() || !facts.hrtimers.is_empty();
    match &facts.entry {
        Entry::Vector(Vector::LocalTimer) => timer_kind(facts),
        Entry::Vector(Vector::Reschedule) => Kind::Reschedule,
        Entry::Vector(Vector::CallFunction | Vector::CallFunctionSingle) => Kind::FunctionCall,
        Entry::Vector(Vector::IrqWork) => Kind::IrqWork,
        // Where the timer is an ordinary interrupt line, as on arm64.
        Entry::Vector(Vector::Other) | Entry::Device { .. } if timer => timer_kind(facts),
        Entry::Vector(vector) => Kind::OtherVector { vector: *vector },
        Entry::Nmi(handler) => Kind::Nmi { handler: handler.clone() },
        Entry::PageFault { user } => Kind::PageFault { user: *user },
        Entry::Device { irq, name } => Kind::Device { irq: *irq, name: name.clone() },
        Entry::Softirq(softirq) => Kind::Softirq { softirq: *softirq },
        Entry::Turn(task) if names::is_worker(&task.comm) => Kind::WorkItem,
        Entry::Turn(task) if log.is_kernel_thread(task) => Kind::KernelThread,
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

impl<'a> Case<'a> {
    /// Whether the CPU may stop its tick while it is busy.
    pub fn adaptive(&self) -> bool {
        self.context.nohz_full.contains(self.facts.cpu)
    }

    /// Whether the CPU was idle.
    pub fn idle(&self) -> bool {
        self.facts.victim.pid == 0
    }

    /// `CPU 1`
    pub fn cpu(&self) -> String {
        format!("CPU {}", self.facts.cpu)
    }

    /// What the tick of an adaptive CPU depends on: that by which it was kept, if it ran, else that
    /// by which this interrupt turned it back on.
    pub fn dependency(&self) -> Option<TickDependency> {
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

    /// The task that ran when the tick was last kept, or else that runs now.
    pub fn kept_by(&self) -> &Task {
        self.facts.kept.as_ref().map_or(&self.facts.victim, |kept| &kept.current)
    }

    /// The class of that task, where it is known.
    pub fn class(&self) -> Option<Class> {
        self.context.known.classes.get(&self.kept_by().pid).copied()
    }

    /// The first timer that ran and that may wake a CPU: a deferrable one runs in whichever tick
    /// there is, and is the cause of none.
    pub fn due_timer(&self) -> Option<&'a TimerRun> {
        self.facts.timers.iter().find(|timer| !timer.deferrable)
    }

    /// What came to this CPU and so interrupted it.
    pub fn arrival(&self) -> Option<Arrival<'a>> {
        let facts = self.facts;
        match self.kind {
            Kind::WorkItem => match &facts.entry {
                Entry::Turn(worker) => facts.works.first().map(|work| Arrival::Work { work, worker }),
                _ => None,
            },
            Kind::Tick => {
                let kept = facts.kept.as_ref().filter(|kept| kept.dependency == TickDependency::Sched)?;
                if kept.fair_server {
                    return Some(Arrival::FairServer);
                }
                self.foremost(&kept.others)
            }
            Kind::Reschedule | Kind::FunctionCall | Kind::IrqWork => {
                if facts.newcomers.is_empty() && facts.sent_by_fair_server() && self.context.at_least(6, 12) {
                    return Some(Arrival::FairServer);
                }
                self.foremost(&facts.newcomers)
            }
            _ => None,
        }
    }

    /// The task whose turn it is, that came to this CPU, or that a timer woke.
    pub fn other(&self) -> Option<&'a Task> {
        let arrived = || match self.arrival()? {
            Arrival::FairServer => None,
            Arrival::Work { worker, .. } => Some(worker),
            Arrival::KernelThread(newcomer) | Arrival::UserTask(newcomer) => Some(&newcomer.task),
        };
        self.facts.turn().or_else(arrived).or_else(|| self.facts.woken.first())
    }

    /// The one of several arrivals that explains most: a work item, a kernel thread, a user task.
    fn foremost(&self, newcomers: &'a [Newcomer]) -> Option<Arrival<'a>> {
        let arrivals = newcomers.iter().map(|newcomer| self.arrival_of(newcomer));
        arrivals.min_by_key(|arrival| match arrival {
            Arrival::FairServer => 0,
            Arrival::Work { .. } => 1,
            Arrival::KernelThread(_) => 2,
            Arrival::UserTask(_) => 3,
        })
    }

    fn arrival_of(&self, newcomer: &'a Newcomer) -> Arrival<'a> {
        let task = &newcomer.task;
        if names::is_worker(&task.comm) {
            let since = self.facts.kept.as_ref().map_or(self.facts.start_ns, |kept| kept.since_ns);
            if let Some(work) = self.log.work_after(task.pid, since.min(self.facts.start_ns)) {
                return Arrival::Work { work, worker: task };
            }
        }
        match self.log.is_kernel_thread(task) {
            true => Arrival::KernelThread(newcomer),
            false => Arrival::UserTask(newcomer),
        }
    }

    /// The last link of a chain that made a second task: what it did to this CPU.
    pub fn effect(&self, arrived: &str) -> String {
        let cpu = self.cpu();
        match self.kind {
            Kind::Tick => format!("tick of {cpu} kept by SCHED: {arrived} in addition to {}", self.kept_by()),
            Kind::WorkItem | Kind::KernelThread if self.idle() => {
                format!("{arrived} ran on {cpu}, which was idle")
            }
            Kind::WorkItem | Kind::KernelThread | Kind::OtherTask => {
                format!("{arrived} ran on {cpu} instead of {}", self.facts.victim)
            }
            _ if self.facts.decision.is_some_and(|decision| decision.restarted) => {
                format!("{cpu} was interrupted for {arrived} and restarted its tick")
            }
            _ => format!("{cpu} was interrupted for {arrived}"),
        }
    }

    /// `X sent the interrupt`, where the sender is known.
    pub fn sent_by(&self) -> Option<String> {
        self.facts.senders.last().map(sent_by)
    }
}

/// `X on CPU 0 sent the interrupt (place in the kernel)`
pub(crate) fn sent_by(send: &Send) -> String {
    format!("{} sent the interrupt ({})", send.origin, send.callsite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_a_length_whoever_is_named_in_it() {
        let said = |step: String| Finding::new(CauseId::class("x"), [step]).unwrap().chain.remove(0);
        assert_eq!(said("a tick".to_owned()), "a tick");
        let long = said("µ€".repeat(1000));
        assert!(long.len() <= LONGEST_STEP + '…'.len_utf8() && long.ends_with('…'), "{}", long.len());
    }
}
