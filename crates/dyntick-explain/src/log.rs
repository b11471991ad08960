// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered across CPUs: names, who runs what, who queued what for whom.

use crate::Task;
use crate::facts::{Origin, TimerRun};
use crate::names;
use dyntick_model::{Event, EventKind, Symbol};
use std::collections::HashMap;

/// `TIMER_DEFERRABLE` in `include/linux/timer.h` (6.1 to 7.2).
const TIMER_DEFERRABLE: u32 = 0x0008_0000;

#[derive(Debug, Default)]
pub(crate) struct Log {
    comms: HashMap<i32, Symbol>,
    /// Functions in progress, innermost last, by CPU and thread: an interrupt handler keeps both.
    running: HashMap<(u32, i32), Vec<Symbol>>,
    /// Timers whose start was seen, by address.
    timers: HashMap<u64, u32>,
    /// Timers that ran, except deferrable ones, in order of time.
    timers_ran: Vec<(u64, Origin)>,
    /// Work items that a thread ran, with the time of their start.
    works: HashMap<i32, Vec<(u64, Symbol)>>,
    /// Who queued a function, with the time.
    queued: HashMap<Symbol, Vec<(u64, Origin)>>,
}

impl Log {
    /// A log that knows some threads by name.
    pub fn new(comms: impl IntoIterator<Item = (i32, Symbol)>) -> Self {
        Self { comms: comms.into_iter().collect(), ..Self::default() }
    }

    /// Takes note of an event. To be called once for each, in order.
    pub fn note(&mut self, event: &Event) {
        use EventKind::*;
        match &event.kind {
            SchedSwitch { prev, prev_comm, next, next_comm, .. } => {
                self.name(*prev, prev_comm);
                self.name(*next, next_comm);
            }
            SchedWakeup { pid, comm, .. } => self.name(*pid, comm),
            TimerStart { timer, flags, .. } => {
                self.timers.insert(*timer, *flags);
            }
            WorkQueued { function, .. } => {
                let origin = self.origin(event.cpu, event.pid);
                self.queued.entry(names::function(function)).or_default().push((event.ts, origin));
            }
            WorkStart { function, .. } => {
                let function = names::function(function);
                self.works.entry(event.pid).or_default().push((event.ts, function.clone()));
                self.push(event, function);
            }
            TimerEntry { timer, function } => {
                self.push(event, names::function(function));
                if !self.timer(*timer, function).deferrable {
                    let origin = self.origin(event.cpu, event.pid);
                    self.timers_ran.push((event.ts, origin));
                }
            }
            HrtimerEntry { function, .. } | CsdEntry { function } => {
                self.push(event, names::function(function));
            }
            IrqEntry { name, .. } => self.push(event, name.clone()),
            HrtimerExit { .. } | TimerExit { .. } | WorkEnd { .. } | CsdExit { .. } | IrqExit { .. } => {
                self.running.entry((event.cpu, event.pid)).or_default().pop();
            }
            _ => {}
        }
    }

    fn name(&mut self, pid: i32, comm: &Symbol) {
        if pid != 0 {
            self.comms.insert(pid, comm.clone());
        }
    }

    fn push(&mut self, event: &Event, function: Symbol) {
        self.running.entry((event.cpu, event.pid)).or_default().push(function);
    }

    /// A thread by its number.
    pub fn task(&self, pid: i32) -> Task {
        let comm = match pid {
            0 => "idle".into(),
            _ => self.comms.get(&pid).cloned().unwrap_or_else(|| "?".into()),
        };
        Task { pid, comm }
    }

    /// Who acts on a CPU at this moment.
    pub fn origin(&self, cpu: u32, pid: i32) -> Origin {
        let function = self.running.get(&(cpu, pid)).and_then(|stack| stack.last()).cloned();
        Origin { cpu, task: self.task(pid), function }
    }

    /// A timer that expires.
    pub fn timer(&self, timer: u64, function: &Symbol) -> TimerRun {
        let deferrable = self.timers.get(&timer).is_some_and(|flags| flags & TIMER_DEFERRABLE != 0);
        TimerRun { function: names::function(function), deferrable }
    }

    /// A timer that ran on another CPU within some time before a moment.
    pub fn timer_elsewhere(&self, cpu: u32, ts: u64, within_ns: u64) -> Option<&Origin> {
        let recent = self.timers_ran.iter().rev().skip_while(|(when, _)| *when > ts);
        let mut recent =
            recent.take_while(|(when, _)| ts.saturating_sub(*when) <= within_ns).map(|(_, origin)| origin);
        recent.find(|origin| origin.cpu != cpu)
    }

    /// The work item that a worker began at or after a time; barriers only mark the end of others.
    pub fn work_after(&self, pid: i32, ts: u64) -> Option<&Symbol> {
        let works = self.works.get(&pid)?;
        let mut later = works.iter().filter(|(start, _)| *start >= ts).map(|(_, function)| function);
        later.find(|function| &***function != "wq_barrier_func")
    }

    /// Who queued a work function last before a time.
    pub fn who_queued(&self, function: &Symbol, ts: u64) -> Option<&Origin> {
        let queued = self.queued.get(function)?;
        queued.iter().rev().find(|(when, _)| *when <= ts).map(|(_, origin)| origin)
    }
}
