// SPDX-License-Identifier: GPL-2.0-only
//! One CPU: its open interruptions and the state of its tick.

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

/// The number of raw events that are kept as evidence for an interrupt. A time slice of a task needs none, because its
/// cause is always known.
const EVIDENCE: usize = 12;

/// The maximum number of interrupts or functions on their way to a CPU. Beyond it the oldest are dropped.
const MOST_PENDING: usize = 1024;
/// The maximum number of tasks that want one CPU. The load of an overloaded CPU is some tens, and the work at each
/// interrupt grows with it.
const MOST_RUNNABLE: usize = 1024;
/// The number of them that an interruption keeps, of which one will be named.
const MOST_NAMED: usize = 32;

/// The progress of an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// In the handler.
    Handler,
    /// In a softirq.
    Softirq,
    /// The handler is done; softirqs and the decision on the tick may follow.
    Exit,
}

/// An open interruption.
#[derive(Debug)]
struct Open {
    facts: Boxed,
    phase: Phase,
    last_ns: u64,
    /// The time of interruptions within this one, which are counted separately.
    nested_ns: u64,
    softirqs_ran: bool,
}

/// A task that wants this CPU.
#[derive(Debug)]
struct Runnable {
    newcomer: Newcomer,
    /// True if it was woken, has not run since, and no interrupt has come for it.
    fresh: bool,
    /// True if it has run since it was woken.
    ran: bool,
}

#[derive(Debug)]
pub(crate) struct Cpu {
    cpu: u32,
    adaptive: bool,
    /// True if the trace has starts of hrtimers, so that a periodic tick is recognised by its own restart.
    starts_recorded: bool,
    /// The open interrupts, the innermost last.
    open: Vec<Open>,
    /// The open time slice of another task.
    turn: Option<Open>,
    runnable: Map<i32, Runnable>,
    sends: Vec<Send>,
    /// The functions that other CPUs requested and whose run was not seen yet.
    requests: Vec<Call>,
    /// The irq_work functions that this CPU queued for itself.
    raised: Vec<Call>,
    /// The last NMI: its end and its handler.
    nmi: Option<(u64, Symbol)>,
    stopped: bool,
    kept: Option<Arc<Kept>>,
    /// True if the fair server was enqueued since the tick last stopped.
    fair_server: bool,
    tick_timer: Option<u64>,
    /// The ended interruptions to which something may still be added.
    held: Vec<Held>,
    done: Vec<Boxed>,
    /// The number of ended interruptions.
    ended: u64,
}

/// An ended interruption to which something may still be added.
#[derive(Debug)]
struct Held {
    facts: Boxed,
    /// True for a wake-up for timers of the wheel that a thread still has to run (PREEMPT_RT).
    owes_timers: bool,
    /// True for an interrupt from another CPU that has just ended, without an observed wake-up.
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

    /// Notes an interrupt that was sent here.
    pub fn will_receive(&mut self, send: Send) {
        push_pending(&mut self.sends, send);
    }

    /// Notes a function that was queued for this CPU by another one.
    pub fn will_call(&mut self, request: Call) {
        push_pending(&mut self.requests, request);
    }

    /// Notes an irq_work that this CPU has queued for itself.
    pub fn will_interrupt_itself(&mut self, request: Call) {
        push_pending(&mut self.raised, request);
    }

    /// Appends the complete interruptions to `done`.
    pub fn take_done(&mut self, done: &mut Vec<Boxed>) {
        done.append(&mut self.done);
    }

    /// Ends all open interruptions at the end of the events.
    pub fn finish(&mut self, log: &Log) {
        while !self.open.is_empty() {
            self.close(log);
        }
        self.close_turn(None);
        self.done.extend(self.held.drain(..).map(|held| held.facts));
    }

    /// Ends an interruption.
    fn end(&mut self, mut facts: Boxed) {
        facts.order = self.ended;
        self.ended += 1;
        self.done.push(facts);
    }

    /// Ends an interruption to which something may still be added.
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

    /// Notes that later timers belong to no ended interruption.
    fn no_timers_owed(&mut self) {
        self.held.iter_mut().for_each(|held| held.owes_timers = false);
    }

    /// Completes those to which nothing can be added any more.
    fn release(&mut self, now_ns: u64) {
        let mut at = 0;
        while at < self.held.len() {
            let held = &mut self.held[at];
            held.awaits_newcomer &= tasks::may_bring(&held.facts, now_ns);
            if held.owes_timers || held.awaits_newcomer {
                at += 1
            } else {
                self.done.push(self.held.remove(at).facts)
            }
        }
    }

    /// Applies the next event of this CPU.
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
            HrtimerEntry { timer, function, .. } => self.run_hrtimer(*timer, log.hrtimer(*timer, function)),
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

    /// Changes the open interruption: the innermost interrupt, else the time slice of a task.
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

    /// The size of an interruption does not grow with the number of events before it. Otherwise a trace in which more
    /// and more tasks are woken and never run would take memory by the square of its length.
    #[test]
    fn interruption_keeps_few_of_many_tasks() {
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
    fn interrupts_that_never_arrive_are_dropped() {
        let mut cpu = Cpu::new(0, false, true);
        let origin = Origin {
            cpu: 1,
            at_ns: 0,
            task: task(7, "x"),
            function: None,
            place: Place::Task,
            stack: None,
            behind: None,
        };
        for ts in 0..2 * MOST_PENDING as u64 {
            let send = Send { ts, origin: origin.clone(), callsite: "f".into(), reschedule: true };
            cpu.will_call(Call { function: "g".into(), by: Some(send.clone()) });
            cpu.will_receive(send);
        }
        assert_eq!((cpu.sends.len(), cpu.requests.len()), (MOST_PENDING, MOST_PENDING));
        assert_eq!(cpu.sends[0].ts, MOST_PENDING as u64);
    }
}
