// SPDX-License-Identifier: GPL-2.0-only
//! Cuts the events of all CPUs into interruptions, in one pass.

use crate::cpu::Cpu;
use crate::facts::{Boxed, Call, Newcomer, Send};
use crate::log::Log;
use crate::{Context, names};
use dyntick_model::{Event, EventKind, Symbol};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What was observed: the interruptions in order of their begin, and what was remembered.
pub(crate) struct Observed {
    pub facts: Vec<Boxed>,
    pub log: Log,
}

/// Reads all events, which must be sorted by time.
pub(crate) fn observe(events: &[Event], context: &Context) -> Observed {
    let mut observer = Observer::new(events, context);
    for (index, event) in events.iter().enumerate() {
        observer.log.note(event);
        observer.tell_target(event);
        observer.cpus.get_mut(&event.cpu).expect("has one for each CPU").step(index, event, &observer.log);
    }
    let log = observer.log;
    let mut facts: Vec<Boxed> = observer.cpus.into_values().flat_map(|cpu| cpu.finish(&log)).collect();
    facts.sort_by_key(|facts| (facts.start_ns, facts.cpu));
    Observed { facts, log }
}

struct Observer {
    log: Log,
    cpus: BTreeMap<u32, Cpu>,
    /// The CPU on which a task runs or waits.
    home: HashMap<i32, u32>,
}

impl Observer {
    fn new(events: &[Event], context: &Context) -> Self {
        let starts_recorded = events.iter().any(is_tick_start);
        let new = |cpu| (cpu, Cpu::new(cpu, context.nohz_full.contains(cpu), starts_recorded));
        let numbers: BTreeSet<u32> = events.iter().map(|event| event.cpu).collect();
        let cpus = numbers.into_iter().map(new).collect();
        let log = Log::new(context);
        Self { log, cpus, home: HashMap::new() }
    }

    /// Tells a CPU what another one, or itself, has in store for it.
    fn tell_target(&mut self, event: &Event) {
        match &event.kind {
            EventKind::SchedWakeup { pid, target, .. } => {
                self.move_task(*pid, *target);
                let woken_by = Some(self.log.origin(event.cpu, event.pid));
                let newcomer = Newcomer { task: self.log.task(*pid), woken_by };
                if let Some(cpu) = self.cpus.get_mut(target) {
                    cpu.will_run(newcomer);
                }
            }
            EventKind::SchedSwitch { next, .. } => self.move_task(*next, event.cpu),
            EventKind::SchedMigrate { pid, to, .. } => {
                self.move_task(*pid, *to);
                let woken_by = Some(self.log.origin(event.cpu, event.pid));
                let newcomer = Newcomer { task: self.log.task(*pid), woken_by };
                if let Some(cpu) = self.cpus.get_mut(to) {
                    cpu.will_run(newcomer);
                }
            }
            EventKind::IpiSend { target, callsite, callback } if *target == event.cpu => {
                let by = Some(self.send(event, callsite, callback));
                if let Some(cpu) = self.cpus.get_mut(target) {
                    cpu.will_interrupt_itself(Call { function: names::function(callback), by });
                }
            }
            EventKind::IpiSend { target, callsite, callback } => {
                let send = self.send(event, callsite, callback);
                if let Some(cpu) = self.cpus.get_mut(target) {
                    cpu.will_receive(send);
                }
            }
            EventKind::IpiSendMask { targets, callsite, callback } => {
                let send = self.send(event, callsite, callback);
                for target in targets.iter() {
                    if let Some(cpu) = self.cpus.get_mut(&target) {
                        cpu.will_receive(send.clone());
                    }
                }
            }
            EventKind::CsdQueuedMask { targets, callsite, function } => {
                let by = Some(self.send(event, callsite, callsite));
                let call = Call { function: names::function(function), by };
                for target in targets.iter().filter(|target| *target != event.cpu) {
                    if let Some(cpu) = self.cpus.get_mut(&target) {
                        cpu.will_call(call.clone());
                    }
                }
            }
            EventKind::CsdQueued { target, callsite, function } => {
                let by = Some(self.send(event, callsite, callsite));
                if let Some(cpu) = self.cpus.get_mut(target) {
                    cpu.will_call(Call { function: names::function(function), by });
                }
            }
            _ => {}
        }
    }

    fn send(&self, event: &Event, callsite: &Symbol, callback: &Symbol) -> Send {
        let reschedule = matches!(&**callback, "" | "0" | "0x0" | "(null)");
        let origin = self.log.origin(event.cpu, event.pid);
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

fn is_tick_start(event: &Event) -> bool {
    matches!(&event.kind, EventKind::HrtimerStart { function, .. } if names::is_tick(&names::function(function)))
}
