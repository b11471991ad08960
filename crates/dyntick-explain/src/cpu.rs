// SPDX-License-Identifier: GPL-2.0-only
//! One CPU: which interruptions are open on it, and in which state its tick is.

mod calls;
mod exceptions;
mod interrupts;
mod tasks;
mod tick;

use crate::facts::*;
use crate::log::Log;
use crate::{Task, names};
use dyntick_model::{Event, EventKind, Map, Symbol};
use std::sync::Arc;

/// Raw events that are kept as evidence, per interrupt; the turn of a task needs none, for it tells its own cause.
const EVIDENCE: usize = 12;

/// What is on its way to a CPU at most: interrupts, functions. Where more are told of and never seen to
/// arrive, the oldest are given up.
const MOST_PENDING: usize = 1024;
/// Tasks that want one CPU at most; the load of a CPU is some tens in the worst days of a machine. What is
/// done at each interrupt takes time by their number.
const MOST_RUNNABLE: usize = 1024;
/// Tasks of them that an interruption keeps: one of them will be named.
const MOST_NAMED: usize = 32;

/// How far an interruption has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// In the handler.
    Handler,
    /// In a softirq.
    Softirq,
    /// The handler is done; softirqs and the decision on the tick may follow.
    Exit,
}

/// An interruption that is not over.
#[derive(Debug)]
struct Open {
    facts: Boxed,
    phase: Phase,
    last_ns: u64,
    /// Time that interruptions inside this one took; they are counted on their own.
    nested_ns: u64,
    softirqs_ran: bool,
}

/// A task that wants this CPU.
#[derive(Debug)]
struct Runnable {
    newcomer: Newcomer,
    /// It was woken, has not run since, and no interrupt has come for it.
    fresh: bool,
    /// It has run since it was woken.
    ran: bool,
}

#[derive(Debug)]
pub(crate) struct Cpu {
    cpu: u32,
    adaptive: bool,
    /// The trace has starts of hrtimers, so that a periodic tick is told by its own restart.
    starts_recorded: bool,
    /// Interrupts that are not over, the innermost last.
    open: Vec<Open>,
    /// The turn of another task that is not over.
    turn: Option<Open>,
    runnable: Map<i32, Runnable>,
    sends: Vec<Send>,
    /// Functions that other CPUs asked for and that have not been seen to run.
    requests: Vec<Call>,
    /// Functions that this CPU queued for its own interrupt context.
    raised: Vec<Call>,
    /// The last NMI: its end and its handler.
    nmi: Option<(u64, Symbol)>,
    stopped: bool,
    kept: Option<Arc<Kept>>,
    /// The fair server was enqueued since the tick last stopped.
    fair_server: bool,
    tick_timer: Option<u64>,
    /// Interruptions that have ended and to which something may still come.
    held: Vec<Held>,
    done: Vec<Boxed>,
    /// How many have ended.
    ended: u64,
}

/// An interruption that has ended and to which something may still come.
#[derive(Debug)]
struct Held {
    facts: Boxed,
    /// A wake-up for the wheel whose timers a thread still has to run (PREEMPT_RT).
    owes_timers: bool,
    /// From another CPU, just ended, and without a task that was seen to be woken.
    awaits_newcomer: bool,
}

impl Cpu {
    pub fn new(cpu: u32, adaptive: bool, starts_recorded: bool) -> Self {
        Self {
            cpu,
            adaptive,
            starts_recorded,
            open: Vec::new(),
            turn: None,
            runnable: Map::default(),
            sends: Vec::new(),
            requests: Vec::new(),
            raised: Vec::new(),
            nmi: None,
            stopped: false,
            kept: None,
            fair_server: false,
            tick_timer: None,
            held: Vec::new(),
            done: Vec::new(),
            ended: 0,
        }
    }

    /// An interrupt was sent here.
    pub fn will_receive(&mut self, send: Send) {
        push_pending(&mut self.sends, send);
    }

    /// A function was put into the queue of those that this CPU has to run.
    pub fn will_call(&mut self, request: Call) {
        push_pending(&mut self.requests, request);
    }

    /// This CPU interrupts itself as soon as it can, to run a function.
    pub fn will_interrupt_itself(&mut self, request: Call) {
        push_pending(&mut self.raised, request);
    }

    /// Moves the interruptions that are complete behind others.
    pub fn take_done(&mut self, done: &mut Vec<Boxed>) {
        done.append(&mut self.done);
    }

    /// Ends what is open, at the end of the events: all is complete then.
    pub fn finish(&mut self, log: &Log) {
        while !self.open.is_empty() {
            self.close(log);
        }
        self.close_turn(None);
        self.done.extend(self.held.drain(..).map(|held| held.facts));
    }

    /// An interruption has ended.
    fn end(&mut self, mut facts: Boxed) {
        facts.order = self.ended;
        self.ended += 1;
        self.done.push(facts);
    }

    /// An interruption has ended to which something may still come.
    fn hold(&mut self, mut facts: Boxed, owes_timers: bool, awaits_newcomer: bool) {
        if !owes_timers && !awaits_newcomer {
            return self.end(facts);
        }
        if owes_timers {
            self.no_timers_owed();
        }
        facts.order = self.ended;
        self.ended += 1;
        self.held.push(Held { facts, owes_timers, awaits_newcomer });
    }

    /// What timers run from now on belong to no interruption that has ended.
    fn no_timers_owed(&mut self) {
        self.held.iter_mut().for_each(|held| held.owes_timers = false);
    }

    /// Lets go of those to which nothing can come any more.
    fn release(&mut self, now_ns: u64) {
        let mut at = 0;
        while at < self.held.len() {
            let held = &mut self.held[at];
            held.awaits_newcomer &= tasks::may_bring(&held.facts, now_ns);
            match held.owes_timers || held.awaits_newcomer {
                true => at += 1,
                false => self.done.push(self.held.remove(at).facts),
            }
        }
    }

    /// Takes the next event of this CPU.
    pub fn step(&mut self, event: &Event, log: &Log) {
        if self.cuts_into_exit(event) {
            self.open.last_mut().expect("has an exit to cut into").phase = Phase::Softirq;
        } else if !self.belongs_to_exit(event) {
            self.close_exited(log);
        }
        self.handle(event, log);
        self.keep_as_evidence(event);
        self.release(event.ts);
        for open in self.open.last_mut().into_iter().chain(&mut self.turn) {
            open.last_ns = event.ts;
        }
    }

    fn handle(&mut self, event: &Event, log: &Log) {
        use EventKind::*;
        match &event.kind {
            InterruptEntry { source: vector } => self.enter(event, Entry::Vector(*vector), log),
            IrqEntry { irq, name } => self.enter(event, Entry::Device { irq: *irq, name: name.clone() }, log),
            InterruptExit { .. } | IrqExit { .. } => self.exit_handler(),
            SoftirqRaise { softirq } => self.with_top(|facts| facts.raised.push(*softirq)),
            SoftirqEntry { softirq } => self.enter_softirq(event, *softirq, log),
            SoftirqExit { .. } => self.exit_softirq(event.ts, log),
            TickStop { success, dependency } => self.decide(event, *success, *dependency, log),
            HrtimerStart { timer, function, .. } => self.start_hrtimer(*timer, function),
            HrtimerEntry { timer, function } => self.run_hrtimer(*timer, log.hrtimer(*timer, function)),
            TimerEntry { timer, function } => self.run_timer(log.timer(*timer, function)),
            WorkQueued { function, .. } => {
                self.with_top(|facts| _ = facts.queued.get_or_insert_with(|| names::function(function)));
            }
            WorkStart { .. } => self.run_work(log.work_begun(event.pid)),
            SchedWakeup { pid, comm, .. } => {
                self.with_top(|facts| _ = facts.woken.get_or_insert_with(|| Task::named(*pid, comm)));
            }
            CsdEntry { function } => self.call(names::function(function)),
            IrqWork { function } => self.run_irq_work(function),
            Nmi { handler, duration_ns } => self.take_nmi(event, handler, *duration_ns, log),
            PageFault { user, .. } => self.fault(event, *user, log),
            SchedSwitch { prev, prev_comm, prev_state, next, next_comm } => {
                let (prev, next) = (Task::named(*prev, prev_comm), Task::named(*next, next_comm));
                self.switch(event, prev, *prev_state, next, log)
            }
            _ => {}
        }
    }

    fn keep_as_evidence(&mut self, event: &Event) {
        self.with_top(|facts| {
            if facts.events.len() < EVIDENCE && facts.turn().is_none() {
                facts.events.push(event.clone());
            }
        });
    }

    /// Applies a change to what is going on: the innermost interrupt, else the turn of a task.
    fn with_top(&mut self, change: impl FnOnce(&mut Facts)) {
        if let Some(open) = self.open.last_mut().or(self.turn.as_mut()) {
            change(&mut open.facts);
        }
    }

    fn facts(&self, start_ns: u64, entry: Entry, victim: Task) -> Boxed {
        Facts::new(self.cpu, start_ns, entry, victim, self.kept.clone()).into()
    }
}

fn push_pending<T>(pending: &mut Vec<T>, one: T) {
    if pending.len() == MOST_PENDING {
        pending.remove(0);
    }
    pending.push(one);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;
    use crate::facts::{Newcomer, Origin, Send};
    use dyntick_model::Interrupt;

    fn log() -> Log {
        Log::new(&Context::unknown())
    }

    fn task(pid: i32, comm: &str) -> Task {
        Task { pid, comm: comm.into() }
    }

    /// What an interruption remembers does not grow with what came before it: else a trace in which more
    /// and more tasks are woken and never run takes memory by the square of its length.
    #[test]
    fn an_interruption_keeps_few_of_many_tasks() {
        let (log, mut cpu) = (log(), Cpu::new(0, false, true));
        let kernel = MOST_RUNNABLE as i32 + 100;
        for pid in 1..=kernel {
            let comm = if pid == kernel { "kworker/0:1" } else { "x" };
            cpu.will_run(Newcomer { task: task(pid, comm), woken_by: None });
        }
        assert_eq!(cpu.runnable.len(), MOST_RUNNABLE);
        let vector = Interrupt::Reschedule;
        let event = |ts, kind| Event { ts, cpu: 0, pid: 0, within: Default::default(), kind };
        cpu.step(&event(1, EventKind::InterruptEntry { source: vector }), &log);
        cpu.step(&event(2, EventKind::InterruptExit { source: vector }), &log);
        cpu.finish(&log);
        let mut facts = Vec::new();
        cpu.take_done(&mut facts);
        assert_eq!(facts[0].newcomers.len(), MOST_NAMED);
        assert_eq!(facts[0].newcomers[0].task.pid, kernel, "the one that explains most is among them");
    }

    #[test]
    fn what_never_arrives_is_given_up() {
        let mut cpu = Cpu::new(0, false, true);
        let origin = Origin { cpu: 1, task: task(7, "x"), function: None, place: Place::Task, stack: None };
        for ts in 0..2 * MOST_PENDING as u64 {
            let send = Send { ts, origin: origin.clone(), callsite: "f".into(), reschedule: true };
            cpu.will_call(Call { function: "g".into(), by: Some(send.clone()) });
            cpu.will_receive(send);
        }
        assert_eq!((cpu.sends.len(), cpu.requests.len()), (MOST_PENDING, MOST_PENDING));
        assert_eq!(cpu.sends[0].ts, MOST_PENDING as u64);
    }
}
