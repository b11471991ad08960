// SPDX-License-Identifier: GPL-2.0-only
//! The observer, which divides the events of all CPUs into interruptions in one pass.

use crate::cpu::Cpu;
use crate::facts::{Boxed, Call, Newcomer, Send};
use crate::log::Log;
use crate::{Context, Task, names};
use dyntick_model::{Event, EventKind, Map, Symbol};
use std::collections::{BTreeMap, BTreeSet};

/// The observed interruptions in order of their begin, and the log.
pub(crate) struct Observed {
    pub facts: Vec<Boxed>,
    pub log: Log,
}

/// Reads all events, which must be sorted by time.
pub(crate) fn observe(events: &[Event], context: &Context) -> Observed {
    let cpus: BTreeSet<u32> = events.iter().map(|event| event.cpu).collect();
    let mut observer = Observer::new(cpus, events.iter().any(is_tick_start), Log::new(context), context);
    let mut facts = Vec::new();
    events.iter().for_each(|event| observer.step(event, &mut facts));
    observer.finish(&mut facts);
    facts.sort_by_key(|facts| (facts.start_ns, facts.cpu, facts.order));
    Observed { facts, log: observer.log }
}

/// An observer of events in order of time, which returns complete interruptions.
pub(crate) struct Observer {
    pub log: Log,
    cpus: BTreeMap<u32, Cpu>,
    /// The CPU on which a task runs or waits.
    home: Map<i32, u32>,
}

impl Observer {
    /// Creates an observer of the events of these CPUs. `starts_recorded` is true if any of them is the start of a
    /// tick's timer ([`is_tick_start`]).
    pub fn new(
        cpus: impl IntoIterator<Item = u32>,
        starts_recorded: bool,
        log: Log,
        context: &Context,
    ) -> Self {
        let new = |cpu| (cpu, Cpu::new(cpu, context.nohz_full.contains(cpu), starts_recorded));
        Self { log, cpus: cpus.into_iter().map(new).collect(), home: Map::default() }
    }

    /// Applies the next event, and appends complete interruptions to `done`. It ignores events of other CPUs.
    pub fn step(&mut self, event: &Event, done: &mut Vec<Boxed>) {
        self.log.note(event);
        if matches!(event.kind, EventKind::KernelStack { .. } | EventKind::UserStack { .. }) {
            return; // a part of the event before it
        }
        self.tell_target(event);
        if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
            cpu.step(event, &self.log);
            cpu.take_done(done);
        }
    }

    /// Appends the rest to `done`, at the end of the events.
    pub fn finish(&mut self, done: &mut Vec<Boxed>) {
        for cpu in self.cpus.values_mut() {
            cpu.finish(&self.log);
            cpu.take_done(done);
        }
    }

    /// Notes the interrupts and functions that a CPU, or another one, has sent to it.
    fn tell_target(&mut self, event: &Event) {
        match &event.kind {
            EventKind::SchedWakeup { pid, comm, target } => {
                self.move_task(*pid, *target);
                let woken_by = Some(self.log.origin(event));
                let newcomer = Newcomer { task: Task::named(*pid, comm), woken_by };
                if let Some(cpu) = self.cpus.get_mut(target) {
                    cpu.will_run(newcomer);
                }
            }
            EventKind::SchedSwitch { next, .. } => self.move_task(*next, event.cpu),
            EventKind::SchedMigrate { pid, comm, to, .. } => {
                self.move_task(*pid, *to);
                let woken_by = Some(self.log.origin(event));
                let newcomer = Newcomer { task: Task::named(*pid, comm), woken_by };
                if let Some(cpu) = self.cpus.get_mut(to) {
                    cpu.will_run(newcomer);
                }
            }
            EventKind::IpiSend { target, callsite, callback: Some(callback) } if *target == event.cpu => {
                let by = Some(self.send(event, callsite, false));
                if let Some(cpu) = self.cpus.get_mut(target) {
                    cpu.will_interrupt_itself(Call { function: names::function(callback), by });
                }
            }
            EventKind::IpiSend { target, callsite, callback } => {
                let send = self.send(event, callsite, callback.is_none());
                if let Some(cpu) = self.cpus.get_mut(target) {
                    cpu.will_receive(send);
                }
            }
            EventKind::IpiSendMask { targets, callsite, callback } => {
                let send = self.send(event, callsite, callback.is_none());
                for target in targets.iter() {
                    if let Some(cpu) = self.cpus.get_mut(&target) {
                        cpu.will_receive(send.clone());
                    }
                }
            }
            EventKind::CsdQueuedMask { targets, callsite, function } => {
                let by = Some(self.send(event, callsite, false));
                let call = Call { function: names::function(function), by };
                for target in targets.iter().filter(|target| *target != event.cpu) {
                    if let Some(cpu) = self.cpus.get_mut(&target) {
                        cpu.will_call(call.clone());
                    }
                }
            }
            EventKind::CsdQueued { target, callsite, function } => {
                let by = Some(self.send(event, callsite, false));
                if let Some(cpu) = self.cpus.get_mut(target) {
                    cpu.will_call(Call { function: names::function(function), by });
                }
            }
            _ => {}
        }
    }

    fn send(&self, event: &Event, callsite: &Symbol, reschedule: bool) -> Send {
        let origin = self.log.origin(event);
        Send { ts: event.ts, origin, callsite: names::function(callsite), reschedule }
    }

    fn move_task(&mut self, pid: i32, cpu: u32) {
        if pid == 0 {
            return;
        }
        let before = self.home.insert(pid, cpu).filter(|before| *before != cpu);
        if let Some(before) = before.and_then(|before| self.cpus.get_mut(&before)) {
            before.will_not_run(pid);
        }
    }
}

/// Returns true if an event is the start of a tick's timer.
pub(crate) fn is_tick_start(event: &Event) -> bool {
    matches!(&event.kind, EventKind::HrtimerStart { function, .. } if names::is_tick(&names::function(function)))
}
