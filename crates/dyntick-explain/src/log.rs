// SPDX-License-Identifier: GPL-2.0-only
//! The state across CPUs: names, running functions, and the origins of queued work.

use crate::facts::{Behind, HrtimerRun, Origin, Place, TimerRun, WorkRun};
use crate::stack::{Slot, Stack};
use crate::threads::Threads;
use crate::{Context, Source, Task, names};
use dyntick_model::{Event, EventKind, Map, Role, Softirq, Symbol, Within};
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// `TIMER_DEFERRABLE` in `include/linux/timer.h` (6.1 to 7.2).
const TIMER_DEFERRABLE: u32 = 0x0008_0000;
/// `TIMER_CPUMASK`, there too: the CPU in whose wheel the timer is.
const TIMER_CPUMASK: u32 = 0x0003_ffff;

/// The number of entries before or after a moment that are searched. Hardly ten timers run within a tick.
const MOST_LOOKED_AT: usize = 1024;

/// The number of expired timers, and of work items of a thread, that a forgetting log keeps.
const MOST_KEPT: usize = 4 * MOST_LOOKED_AT;

#[derive(Debug, Default)]
pub(crate) struct Log {
    threads: Threads,
    /// The running functions with their contexts, the innermost last, by CPU and thread, which an interrupt handler
    /// leaves unchanged.
    running: Map<(u32, i32), Vec<(Within, Symbol)>>,
    /// The last interrupt and the last softirq of each CPU.
    interrupts: Map<u32, Source>,
    softirqs: Map<u32, Softirq>,
    /// The timers whose start was seen, by address, with their flags.
    timers: Map<u64, u32>,
    /// The last one that set a timer of either kind, by address.
    set_by: Map<u64, Origin>,
    /// The interval timers on CPU time whose arming was seen, by task.
    itimers: Map<i32, u32>,
    /// The expired timers, except deferrable ones, in order of time.
    timers_ran: Vec<(u64, Origin)>,
    /// The work items that a thread ran, with the time of their start.
    works: Map<i32, Vec<(u64, WorkRun)>>,
    /// The last one that queued a work item, by its address.
    queued: Map<u64, Origin>,
    /// The last one whose callback waits for a grace period of RCU Tasks Trace.
    rcu_tasks_trace: Option<Origin>,
    /// The origin whose stack is still to follow, by the CPU of its event.
    slots: Map<u32, (i32, Slot)>,
    /// The part of the stack that has come.
    users: Map<u32, (i32, Arc<[u64]>)>,
    has_stacks: bool,
    /// The last signal that each task sent.
    signals: Map<i32, u32>,
    /// The task that gave each CPU up last.
    switched: Map<u32, i32>,
    /// True if it forgets old entries, and keeps only those that may explain the recent past.
    forgets: bool,
}

impl Log {
    /// Creates a log with the facts of the context.
    pub fn new(context: &Context) -> Self {
        Self { threads: Threads::new(context), ..Self::default() }
    }

    /// Creates a forgetting log with the facts of the context, and with interval timers that are only seen later.
    pub fn forgetful(context: &Context, itimers: Map<i32, u32>) -> Self {
        Self { itimers, forgets: true, ..Self::new(context) }
    }

    /// Returns the interval timers on CPU time that were armed, by task.
    pub fn into_itimers(self) -> Map<i32, u32> {
        self.itimers
    }

    /// Notes an event. It must be called once for each event, in order.
    pub fn note(&mut self, event: &Event) {
        use EventKind::*;
        self.expect_stack(event);
        match &event.kind {
            SchedSwitch { prev, prev_comm, next, next_comm, .. } => {
                self.switched.insert(event.cpu, *prev);
                self.threads.name(*prev, prev_comm);
                self.threads.name(*next, next_comm);
            }
            SchedWakeup { pid, comm, .. } | SchedMigrate { pid, comm, .. } => self.threads.name(*pid, comm),
            TaskRename { pid, comm } => self.threads.name(*pid, comm),
            SignalSent { signal, .. } => _ = self.signals.insert(event.pid, *signal),
            RcuTasksTrace => self.rcu_tasks_trace = Some(self.origin(event)),
            SchedFork { parent, child } => self.threads.fork(*parent, *child),
            TimerStart { timer, flags, function, .. } => {
                self.timers.insert(*timer, *flags);
                self.note_setter(event, *timer, function);
            }
            HrtimerStart { timer, function, .. } => self.note_setter(event, *timer, function),
            Itimer { which, armed } if *armed => {
                self.itimers.insert(event.pid, *which);
            }
            WorkQueued { work, .. } => {
                let origin = self.origin(event);
                self.queued.insert(*work, origin);
            }
            WorkStart { work, function } => {
                let function = names::function(function);
                let run = WorkRun { function: function.clone(), queued_by: self.queued.remove(work) };
                let works = self.works.entry(event.pid).or_default();
                works.push((event.ts, run));
                if self.forgets {
                    forget(works);
                }
                self.push(event, function);
            }
            TimerEntry { timer, function } => {
                self.push(event, names::function(function));
                if !self.timer(*timer, function).deferrable {
                    let origin = self.origin(event);
                    self.timers_ran.push((event.ts, origin));
                    if self.forgets {
                        forget(&mut self.timers_ran);
                    }
                }
            }
            HrtimerEntry { function, .. } | CsdEntry { function } => {
                self.push(event, names::function(function));
            }
            IrqEntry { name, .. } => {
                self.interrupts.insert(event.cpu, Source::Device(name.clone()));
                self.push(event, name.clone());
            }
            InterruptEntry { source: vector } => {
                self.interrupts.insert(event.cpu, Source::Vector(*vector));
            }
            SoftirqEntry { softirq } => _ = self.softirqs.insert(event.cpu, *softirq),
            HrtimerExit { .. } | TimerExit { .. } | WorkEnd { .. } | CsdExit { .. } | IrqExit { .. } => {
                self.pop(event);
            }
            _ => {}
        }
    }

    /// Reserves a place for the stack, which is recorded after its event.
    fn expect_stack(&mut self, event: &Event) {
        use EventKind::*;
        match &event.kind {
            SchedWakeup { .. }
            | SchedMigrate { .. }
            | WorkQueued { .. }
            | TimerStart { .. }
            | HrtimerStart { .. }
            | IpiSend { .. }
            | IpiSendMask { .. }
            | CsdQueued { .. }
            | CsdQueuedMask { .. }
                if self.has_stacks =>
            {
                self.slots.insert(event.cpu, (event.pid, Slot::default()));
            }
            UserStack { process, frames } => {
                self.users.insert(event.cpu, (*process, frames.clone()));
            }
            // The stack of a thread that goes to sleep causes nothing.
            KernelStack { .. } if self.switched.get(&event.cpu) == Some(&event.pid) => {}
            KernelStack { frames } => {
                self.has_stacks = true;
                let user = self.users.remove(&event.cpu);
                let slot = self.slots.remove(&event.cpu).filter(|(pid, _)| *pid == event.pid);
                if let Some((pid, slot)) = slot {
                    // If it is there already, this one belongs to another event.
                    let _ = slot.set(Stack::new(self.task(pid).comm, frames, user));
                }
            }
            _ if self.has_stacks => _ = self.slots.remove(&event.cpu),
            _ => {}
        }
    }

    fn push(&mut self, event: &Event, function: Symbol) {
        self.running.entry((event.cpu, event.pid)).or_default().push((event.within, function));
    }

    fn pop(&mut self, event: &Event) {
        if let Entry::Occupied(mut running) = self.running.entry((event.cpu, event.pid)) {
            running.get_mut().pop();
            // Otherwise there would be an entry for each thread that ever took an interrupt.
            if running.get().is_empty() {
                running.remove();
            }
        }
    }

    /// Returns the origin of a timer. A timer that sets itself again keeps its first origin.
    fn note_setter(&mut self, event: &Event, timer: u64, function: &Symbol) {
        let origin = self.origin(event);
        if origin.function.as_ref() != Some(&names::function(function)) {
            self.set_by.insert(timer, origin);
        }
    }

    /// The last signal that a task sent.
    pub fn signal_of(&self, sender: i32) -> Option<u32> {
        self.signals.get(&sender).copied()
    }

    /// Returns true if a thread is the kernel's own.
    pub fn is_kernel_thread(&self, task: &Task) -> bool {
        self.threads.is_kernels(task)
    }

    /// Returns true if a task belongs to the recorded command.
    pub fn is_commands(&self, task: &Task) -> bool {
        self.threads.is_commands(task)
    }

    /// The interval timer on CPU time that a task has armed, by its name in setitimer(2).
    pub fn itimer(&self, pid: i32) -> Option<&'static str> {
        match self.itimers.get(&pid)? {
            1 => Some("ITIMER_VIRTUAL"),
            2 => Some("ITIMER_PROF"),
            _ => None,
        }
    }

    /// The thread with this TID.
    pub fn task(&self, pid: i32) -> Task {
        self.threads.task(pid)
    }

    /// The actor of an event: an interrupt rather than the task that it has interrupted.
    pub fn origin(&self, event: &Event) -> Origin {
        let Event { cpu, pid, within, .. } = *event;
        let innermost = self.running.get(&(cpu, pid)).and_then(|stack| stack.last());
        let function = innermost.filter(|(of, _)| *of >= within).map(|(_, function)| function.clone());
        let place = match within {
            Within::Task => Place::Task,
            Within::Softirq => Place::Softirq(self.softirqs.get(&cpu).copied()),
            Within::Interrupt => Place::Interrupt(self.interrupts.get(&cpu).cloned()),
        };
        let stack = if self.has_stacks { self.slots.get(&cpu).map(|(_, slot)| slot.clone()) } else { None };
        let task = self.task(pid);
        let behind = if place == Place::Task { self.behind(&task, function.as_ref()) } else { None };
        Origin { cpu, at_ns: event.ts, task, function, place, stack, behind }
    }

    /// The one for which a thread acts, in this function if one is known.
    fn behind(&self, thread: &Task, function: Option<&Symbol>) -> Option<Arc<Behind>> {
        let work = self.works.get(&thread.pid).and_then(|works| works.last());
        match work.filter(|(_, work)| Some(&work.function) == function) {
            Some((_, work)) => work.queued_by.clone().map(Behind::Queued),
            None if names::is_rcu_tasks_trace(&thread.comm) => {
                self.rcu_tasks_trace.clone().map(Behind::Called)
            }
            None => None,
        }
        .and_then(Behind::shared)
    }

    /// Returns a timer that expires.
    pub fn timer(&self, timer: u64, function: &Symbol) -> TimerRun {
        let flags = self.timers.get(&timer);
        TimerRun {
            function: names::function(function),
            deferrable: flags.is_some_and(|flags| flags & TIMER_DEFERRABLE != 0),
            set_by: self.set_by.get(&timer).cloned(),
            base: flags.map(|flags| flags & TIMER_CPUMASK),
        }
    }

    /// Returns a high-resolution timer that expires.
    pub fn hrtimer(&self, timer: u64, function: &Symbol) -> HrtimerRun {
        HrtimerRun { function: names::function(function), set_by: self.set_by.get(&timer).cloned() }
    }

    /// The work item that a thread has just begun.
    pub fn work_begun(&self, pid: i32) -> Option<WorkRun> {
        self.works.get(&pid)?.last().map(|(_, run)| run.clone())
    }

    /// A timer that ran on another CPU within some time before a moment.
    pub fn timer_elsewhere(&self, cpu: u32, ts: u64, within_ns: u64) -> Option<&Origin> {
        let before = self.timers_ran.partition_point(|(when, _)| *when <= ts);
        let recent = self.timers_ran[..before].iter().rev().take(MOST_LOOKED_AT);
        let mut recent =
            recent.take_while(|(when, _)| ts.saturating_sub(*when) <= within_ns).map(|(_, origin)| origin);
        recent.find(|origin| origin.cpu != cpu)
    }

    /// The work item that a worker began at or after a time; barriers only mark the end of others.
    pub fn work_after(&self, pid: i32, ts: u64) -> Option<&WorkRun> {
        let works = self.works.get(&pid)?;
        let later = &works[works.partition_point(|(start, _)| *start < ts)..];
        later
            .iter()
            .take(MOST_LOOKED_AT)
            .map(|(_, run)| run)
            .find(|run| Role::of(&run.function) != Some(Role::WorkBarrier))
    }
}

/// Drops the older half of a list that is too long.
fn forget<T>(all: &mut Vec<T>) {
    if all.len() >= 2 * MOST_KEPT {
        all.drain(..MOST_KEPT);
    }
}
