// SPDX-License-Identifier: GPL-2.0-only
//! One CPU: which interruptions are open on it, and in which state its tick is.

use crate::facts::*;
use crate::log::Log;
use crate::{Task, names};
use dyntick_model::{Event, EventKind, Softirq, Symbol, TickDependency, Vector};
use std::collections::BTreeMap;

/// A softirq that begins within this time after an interrupt, ns, is taken as run by its exit even
/// if its raise was not recorded.
const SOFTIRQ_FOLLOWS_NS: u64 = 50_000;

/// A switch within this time after an interrupt from another CPU, ns, is taken as asked for by it.
const SWITCH_FOLLOWS_NS: u64 = 100_000;

/// The longest time that an interrupt takes from CPU to CPU, ns; generous, for busy hypervisors.
const IPI_TRAVEL_NS: u64 = 2_000_000;

/// Raw events that are kept as evidence, per interruption.
const EVIDENCE: usize = 12;

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
    facts: Facts,
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
    /// It was woken and has not run since.
    fresh: bool,
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
    runnable: BTreeMap<i32, Runnable>,
    sends: Vec<Send>,
    stopped: bool,
    kept: Option<Kept>,
    /// The fair server was enqueued since the tick last stopped.
    fair_server: bool,
    tick_timer: Option<u64>,
    /// A wake-up for the wheel whose timers a thread still has to run (PREEMPT_RT).
    owed_timers: Option<usize>,
    /// Interrupts from other CPUs, just ended, that brought no task that was seen to be woken.
    without_newcomer: Vec<usize>,
    done: Vec<Facts>,
}

impl Cpu {
    pub fn new(cpu: u32, adaptive: bool, starts_recorded: bool) -> Self {
        Self {
            cpu,
            adaptive,
            starts_recorded,
            open: Vec::new(),
            turn: None,
            runnable: BTreeMap::new(),
            sends: Vec::new(),
            stopped: false,
            kept: None,
            fair_server: false,
            tick_timer: None,
            owed_timers: None,
            without_newcomer: Vec::new(),
            done: Vec::new(),
        }
    }

    /// A task was woken to run here.
    pub fn will_run(&mut self, newcomer: Newcomer) {
        self.runnable.insert(newcomer.task.pid, Runnable { newcomer, fresh: true });
    }

    /// A task went to another CPU.
    pub fn will_not_run(&mut self, pid: i32) {
        self.runnable.remove(&pid);
    }

    /// An interrupt was sent here.
    pub fn will_receive(&mut self, send: Send) {
        self.sends.push(send);
    }

    /// All interruptions, at the end of the events.
    pub fn finish(mut self) -> Vec<Facts> {
        while !self.open.is_empty() {
            self.close();
        }
        self.close_turn(None);
        self.done
    }

    /// Takes the next event of this CPU.
    pub fn step(&mut self, index: usize, event: &Event, log: &Log) {
        if self.cuts_into_exit(event) {
            self.open.last_mut().expect("has an exit to cut into").phase = Phase::Softirq;
        } else if !self.belongs_to_exit(event) {
            self.close_exited();
        }
        self.handle(event, log);
        self.keep_as_evidence(index);
        for open in self.open.last_mut().into_iter().chain(&mut self.turn) {
            open.last_ns = event.ts;
        }
    }

    fn handle(&mut self, event: &Event, log: &Log) {
        use EventKind::*;
        match &event.kind {
            VectorEntry { vector } => self.enter(event, Entry::Vector(*vector), log),
            IrqEntry { irq, name } => self.enter(event, Entry::Device { irq: *irq, name: name.clone() }, log),
            VectorExit { .. } | IrqExit { .. } => self.exit_handler(),
            SoftirqRaise { softirq } => self.with_top(|facts| facts.raised.push(*softirq)),
            SoftirqEntry { softirq } => self.enter_softirq(event, *softirq, log),
            SoftirqExit { .. } => self.exit_softirq(),
            TickStop { success, dependency } => self.decide(event, *success, *dependency, log),
            HrtimerStart { timer, function, .. } => self.start_hrtimer(*timer, function),
            HrtimerEntry { timer, function } => self.run_hrtimer(*timer, function),
            TimerEntry { timer, function } => self.run_timer(log.timer(*timer, function)),
            WorkQueued { function, .. } => {
                self.with_top(|facts| facts.queued.push(names::function(function)));
            }
            WorkStart { function, .. } => self.run_work(names::function(function)),
            SchedWakeup { pid, .. } => {
                let task = log.task(*pid);
                self.with_top(|facts| facts.woken.push(task));
            }
            CsdEntry { function } => self.with_top(|facts| facts.called.push(names::function(function))),
            SchedSwitch { prev, prev_state, next, .. } => {
                self.switch(event, log.task(*prev), *prev_state, log.task(*next))
            }
            _ => {}
        }
    }

    /// Whether an event still belongs to the exit of the innermost interrupt.
    fn belongs_to_exit(&self, event: &Event) -> bool {
        let Some(top) = self.open.last().filter(|open| open.phase == Phase::Exit) else {
            return true;
        };
        match &event.kind {
            EventKind::TickStop { .. } => true,
            EventKind::HrtimerStart { function, .. } => names::is_tick(&names::function(function)),
            EventKind::HrtimerCancel { timer } => Some(*timer) == self.tick_timer,
            // An interrupt inside of a softirq leaves the softirqs to the one outside.
            EventKind::SoftirqEntry { softirq } => {
                self.open.len() == 1
                    && (top.facts.raised.contains(softirq) || event.ts - top.last_ns <= SOFTIRQ_FOLLOWS_NS)
            }
            // Several handlers may share one interrupt line.
            EventKind::IrqEntry { irq, .. } => {
                matches!(&top.facts.entry, Entry::Device { irq: open, .. } if open == irq)
                    && event.ts - top.last_ns <= SOFTIRQ_FOLLOWS_NS
            }
            _ => false,
        }
    }

    /// Whether an event is an interrupt that came between another one and its softirqs.
    fn cuts_into_exit(&self, event: &Event) -> bool {
        let interrupt = matches!(event.kind, EventKind::VectorEntry { .. } | EventKind::IrqEntry { .. });
        self.open.last().is_some_and(|top| {
            let softirqs_due = !top.facts.raised.is_empty() && !top.softirqs_ran;
            interrupt
                && top.phase == Phase::Exit
                && softirqs_due
                && event.ts - top.last_ns <= SOFTIRQ_FOLLOWS_NS
        })
    }

    fn close_exited(&mut self) {
        while self.open.last().is_some_and(|open| open.phase == Phase::Exit) {
            self.close();
        }
    }

    fn keep_as_evidence(&mut self, index: usize) {
        self.with_top(|facts| {
            if facts.events.len() < EVIDENCE {
                facts.events.push(index);
            }
        });
    }

    /// Applies a change to what is going on: the innermost interrupt, else the turn of a task.
    fn with_top(&mut self, change: impl FnOnce(&mut Facts)) {
        if let Some(open) = self.open.last_mut().or(self.turn.as_mut()) {
            change(&mut open.facts);
        }
    }

    fn enter(&mut self, event: &Event, entry: Entry, log: &Log) {
        if let Some(top) = self.open.last_mut().filter(|open| open.phase == Phase::Exit) {
            top.phase = Phase::Handler;
            return;
        }
        let mut facts = self.facts(event.ts, entry, log.task(event.pid));
        facts.senders = self.take_sends(event.ts, &facts.entry);
        self.fair_server |= facts.sent_by_fair_server();
        if facts.entry == Entry::Vector(Vector::LocalTimer) {
            self.owed_timers = None;
        }
        self.open.push(Open {
            facts,
            phase: Phase::Handler,
            last_ns: event.ts,
            nested_ns: 0,
            softirqs_ran: false,
        });
    }

    fn facts(&self, start_ns: u64, entry: Entry, victim: Task) -> Facts {
        Facts {
            cpu: self.cpu,
            start_ns,
            duration_ns: 0,
            entry,
            victim,
            tick: None,
            hrtimers: Vec::new(),
            timers: Vec::new(),
            queued: Vec::new(),
            works: Vec::new(),
            called: Vec::new(),
            raised: Vec::new(),
            woken: Vec::new(),
            newcomers: Vec::new(),
            senders: Vec::new(),
            kept: self.kept.clone(),
            decision: None,
            events: Vec::new(),
        }
    }

    /// The senders of an interrupt that has arrived. What was sent long ago was seen by a CPU that
    /// polled in idle, without an interrupt.
    fn take_sends(&mut self, now: u64, entry: &Entry) -> Vec<Send> {
        let reschedule = match entry {
            Entry::Vector(Vector::Reschedule) => true,
            Entry::Vector(Vector::CallFunction | Vector::CallFunctionSingle) => false,
            _ => return Vec::new(),
        };
        self.sends.retain(|send| now - send.ts <= IPI_TRAVEL_NS);
        let (taken, left) = self.sends.drain(..).partition(|send| send.reschedule == reschedule);
        self.sends = left;
        taken
    }

    fn exit_handler(&mut self) {
        if let Some(open) = self.open.last_mut() {
            open.phase = Phase::Exit;
        }
    }

    fn enter_softirq(&mut self, event: &Event, softirq: Softirq, log: &Log) {
        if let Some(top) = self.open.last_mut() {
            top.phase = Phase::Softirq;
            top.softirqs_ran = true;
            return;
        }
        let task = log.task(event.pid);
        if names::is_kernel_thread(&task.comm) {
            return; // ksoftirqd or ktimers: the turn of that thread is the interruption
        }
        let facts = self.facts(event.ts, Entry::Softirq(softirq), task);
        self.open.push(Open {
            facts,
            phase: Phase::Softirq,
            last_ns: event.ts,
            nested_ns: 0,
            softirqs_ran: false,
        });
    }

    fn exit_softirq(&mut self) {
        if let Some(open) = self.open.last_mut().filter(|open| open.phase == Phase::Softirq) {
            open.phase = Phase::Exit;
        }
    }

    /// Ends the innermost interrupt.
    fn close(&mut self) {
        let Some(mut open) = self.open.pop() else { return };
        let whole_ns = open.last_ns - open.facts.start_ns;
        open.facts.duration_ns = whole_ns.saturating_sub(open.nested_ns);
        open.facts.newcomers = self.fresh();
        if let Some(outer) = self.open.last_mut().or(self.turn.as_mut()) {
            outer.nested_ns += whole_ns;
        }
        if open.facts.awaits_timers() {
            self.owed_timers = Some(self.done.len());
        }
        if open.facts.is_from_another_cpu() && open.facts.newcomers.is_empty() {
            self.without_newcomer.push(self.done.len());
        }
        self.done.push(open.facts);
    }

    fn fresh(&self) -> Vec<Newcomer> {
        self.runnable.values().filter(|task| task.fresh).map(|task| task.newcomer.clone()).collect()
    }

    fn start_hrtimer(&mut self, timer: u64, function: &Symbol) {
        if !names::is_tick(&names::function(function)) {
            return;
        }
        self.tick_timer = Some(timer);
        let Some(top) = self.open.last_mut().filter(|open| open.phase == Phase::Handler) else { return };
        // A handler that restarts the tick's timer itself is that of a running tick; that of a
        // stopped one leaves it to the exit of the interrupt (`tick_nohz_handler`).
        if let Some(tick) = &mut top.facts.tick {
            tick.periodic = true;
            self.stopped = false;
        }
    }

    fn run_hrtimer(&mut self, timer: u64, function: &Symbol) {
        let function = names::function(function);
        if !names::is_tick(&function) {
            return self.with_top(|facts| facts.hrtimers.push(function));
        }
        self.tick_timer = Some(timer);
        let periodic = !self.starts_recorded && !self.stopped;
        self.with_top(|facts| facts.tick = Some(TickRun { periodic }));
    }

    fn run_timer(&mut self, run: TimerRun) {
        if let (true, Some(index)) = (self.open.is_empty(), self.owed_timers) {
            self.done[index].timers.push(run.clone());
        }
        self.with_top(|facts| facts.timers.push(run));
    }

    fn run_work(&mut self, function: Symbol) {
        if let Some(turn) = &mut self.turn {
            turn.facts.works.push(function);
        }
    }

    fn decide(&mut self, event: &Event, stopped: bool, dependency: TickDependency, log: &Log) {
        let restarted = self.stopped && !stopped;
        self.stopped = stopped;
        if stopped {
            self.kept = None;
            self.fair_server = false;
        } else {
            self.kept = Some(self.keep(event, dependency, log));
        }
        let kept = self.kept.clone();
        self.with_top(|facts| {
            facts.decision = Some(Decision { stopped, dependency, restarted });
            facts.kept = facts.kept.take().or(kept);
        });
    }

    /// Why the tick is kept now. Where no other task is seen that wants the CPU, the reason of the
    /// decision before still holds: from 6.12 on a task that went to sleep may stay queued for a
    /// while (delayed dequeue).
    fn keep(&self, event: &Event, dependency: TickDependency, log: &Log) -> Kept {
        let others = || self.runnable.iter().filter(|(pid, _)| **pid != event.pid).map(|(_, task)| task);
        let news = others().any(|task| task.fresh);
        let others: Vec<Newcomer> = others().map(|task| task.newcomer.clone()).collect();
        let before = self.kept.as_ref().filter(|kept| kept.dependency == dependency);
        match before {
            Some(before) if others.is_empty() || !news && same_tasks(&others, &before.others) => {
                before.clone()
            }
            _ => Kept {
                dependency,
                since_ns: event.ts,
                current: log.task(event.pid),
                fair_server: self.fair_server && others.is_empty(),
                others,
            },
        }
    }

    fn switch(&mut self, event: &Event, prev: Task, prev_state: u64, next: Task) {
        while !self.open.is_empty() {
            self.close(); // no interrupt outlives a switch
        }
        self.explain_by_switch(event.ts, &next);
        // The low byte has the states of sleep; 0x100 says preempted (`__trace_sched_switch_state`).
        let wants_to_run = prev_state & 0xff == 0 && prev.pid != 0;
        if wants_to_run {
            let woken_by = Origin { cpu: self.cpu, task: prev.clone(), function: None };
            let newcomer = Newcomer { task: prev.clone(), woken_by };
            self.runnable.entry(prev.pid).or_insert(Runnable { newcomer, fresh: false });
        } else {
            self.runnable.remove(&prev.pid);
        }
        if let Some(task) = self.runnable.get_mut(&next.pid) {
            task.fresh = false;
        }
        if prev.pid == 0 && !self.adaptive {
            self.stopped = false; // `tick_nohz_idle_exit` restarts the tick
        }
        let victim = match self.turn.as_ref() {
            Some(turn) => turn.facts.victim.clone(),
            None => {
                if wants_to_run {
                    prev
                } else {
                    Task { pid: 0, comm: "idle".into() }
                }
            }
        };
        self.close_turn(Some(event.ts));
        self.begin_turn(event.ts, victim, next);
    }

    /// A task that was moved here, without being woken, is seen only when it runs.
    fn explain_by_switch(&mut self, ts: u64, next: &Task) {
        for index in std::mem::take(&mut self.without_newcomer) {
            let facts = &mut self.done[index];
            let recent = ts - facts.start_ns <= SWITCH_FOLLOWS_NS;
            if let Some(send) =
                facts.senders.last().filter(|_| recent && next.pid != 0 && *next != facts.victim)
            {
                let woken_by = send.origin.clone();
                facts.newcomers.push(Newcomer { task: next.clone(), woken_by });
            }
        }
    }

    /// Another task than the victim gets the CPU. An idle CPU's own task is no interruption.
    fn begin_turn(&mut self, ts: u64, victim: Task, next: Task) {
        let interrupts = match victim.pid {
            0 => names::is_kernel_thread(&next.comm),
            _ => next.pid != victim.pid,
        };
        if next.pid == 0 || !interrupts {
            return;
        }
        let facts = self.facts(ts, Entry::Turn(next), victim);
        self.turn =
            Some(Open { facts, phase: Phase::Handler, last_ns: ts, nested_ns: 0, softirqs_ran: false });
    }

    fn close_turn(&mut self, end_ns: Option<u64>) {
        let Some(mut turn) = self.turn.take() else { return };
        let whole_ns = end_ns.unwrap_or(turn.last_ns) - turn.facts.start_ns;
        turn.facts.duration_ns = whole_ns.saturating_sub(turn.nested_ns);
        self.done.push(turn.facts);
    }
}

fn same_tasks(a: &[Newcomer], b: &[Newcomer]) -> bool {
    a.iter().map(|n| n.task.pid).eq(b.iter().map(|n| n.task.pid))
}
