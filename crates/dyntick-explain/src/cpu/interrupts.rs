// SPDX-License-Identifier: GPL-2.0-only
//! The interrupts of one CPU: their begin, nesting and end.

use super::{Cpu, Open, Phase};
use crate::facts::*;
use crate::log::Log;
use crate::{Task, names};
use dyntick_model::{Event, EventKind, Interrupt, Softirq};

/// The time, ns, within which a softirq after an interrupt counts as run by its exit, even if its raise was not
/// recorded.
const SOFTIRQ_FOLLOWS_NS: u64 = 50_000;

/// The longest time of an interrupt from CPU to CPU, ns; it is generous for busy hypervisors.
pub(super) const IPI_TRAVEL_NS: u64 = 2_000_000;

impl Cpu {
    /// Returns true if an event still belongs to the exit of the innermost interrupt.
    pub(super) fn belongs_to_exit(&self, event: &Event) -> bool {
        let Some(top) = self.open.last().filter(|open| open.phase == Phase::Exit) else {
            return true;
        };
        match &event.kind {
            EventKind::TickStop { .. } | EventKind::Nmi { .. } => true,
            EventKind::HrtimerStart { function, .. } => names::is_tick(&names::function(function)),
            EventKind::HrtimerCancel { timer } => Some(*timer) == self.tick_timer,
            // An interrupt within a softirq leaves the softirqs to the outer one.
            EventKind::SoftirqEntry { softirq } => {
                self.open.len() == 1
                    && (top.facts.raised.contains(softirq)
                        || event.ts.saturating_sub(top.last_ns) <= SOFTIRQ_FOLLOWS_NS)
            }
            // Several handlers may share one interrupt line.
            EventKind::IrqEntry { irq, .. } => {
                matches!(&top.facts.entry, Entry::Device { irq: open, .. } if open == irq)
                    && event.ts.saturating_sub(top.last_ns) <= SOFTIRQ_FOLLOWS_NS
            }
            _ => false,
        }
    }

    /// Returns true if an event is an interrupt between another one and its softirqs.
    pub(super) fn cuts_into_exit(&self, event: &Event) -> bool {
        let interrupt = matches!(event.kind, EventKind::InterruptEntry { .. } | EventKind::IrqEntry { .. });
        self.open.last().is_some_and(|top| {
            let softirqs_due = !top.facts.raised.is_empty() && !top.softirqs_ran;
            interrupt
                && top.phase == Phase::Exit
                && softirqs_due
                && event.ts.saturating_sub(top.last_ns) <= SOFTIRQ_FOLLOWS_NS
        })
    }

    pub(super) fn close_exited(&mut self, log: &Log) {
        while self.open.last().is_some_and(|open| open.phase == Phase::Exit) {
            self.close(log);
        }
    }

    pub(super) fn enter(&mut self, event: &Event, entry: Entry, log: &Log) {
        if let Some(top) = self.open.last_mut().filter(|open| open.phase == Phase::Exit) {
            top.phase = Phase::Handler;
            return;
        }
        let mut facts = self.facts(event.ts, entry, log.task(event.pid));
        facts.senders = self.take_sends(event.ts, &facts.entry);
        self.fair_server |= facts.sent_by_fair_server();
        if facts.entry == Entry::Vector(Interrupt::IrqWork) {
            let recent = self.nmi.take().filter(|(ts, _)| event.ts.saturating_sub(*ts) <= SOFTIRQ_FOLLOWS_NS);
            facts.irq_works.append(&mut self.raised);
            facts.after_nmi = recent.map(|(_, handler)| handler);
        }
        if facts.entry == Entry::Vector(Interrupt::Timer) {
            self.no_timers_owed();
        }
        self.open.push(Open {
            facts,
            phase: Phase::Handler,
            last_ns: event.ts,
            nested_ns: 0,
            softirqs_ran: false,
        });
    }

    /// The senders of an interrupt that has arrived. An older request was seen by a CPU that polled in idle, without an
    /// interrupt.
    pub(super) fn take_sends(&mut self, now: u64, entry: &Entry) -> Vec<Send> {
        let reschedule = match entry {
            Entry::Vector(Interrupt::Reschedule) => true,
            Entry::Vector(Interrupt::FunctionCall | Interrupt::FunctionCallSingle) => false,
            _ => return Vec::new(),
        };
        self.sends.retain(|send| now.saturating_sub(send.ts) <= IPI_TRAVEL_NS);
        let (taken, left) = self.sends.drain(..).partition(|send| send.reschedule == reschedule);
        self.sends = left;
        taken
    }

    pub(super) fn exit_handler(&mut self) {
        if let Some(open) = self.open.last_mut() {
            open.phase = Phase::Exit;
        }
    }

    pub(super) fn enter_softirq(&mut self, event: &Event, softirq: Softirq, log: &Log) {
        let task = log.task(event.pid);
        if let Some(top) = self.open.last_mut() {
            top.phase = Phase::Softirq;
            top.softirqs_ran = true;
            // The work of RCU at the end of an interrupt has nothing to do with that interrupt.
            if softirq != Softirq::Rcu {
                return;
            }
            return self.open_softirq(event.ts, softirq, task);
        }
        if log.is_kernel_thread(&task) {
            // ksoftirqd or ktimers: the time slice of that thread is the interruption.
            return self.with_top(|facts| _ = facts.left_over.get_or_insert(softirq));
        }
        self.open_softirq(event.ts, softirq, task);
    }

    fn open_softirq(&mut self, ts: u64, softirq: Softirq, task: Task) {
        let facts = self.facts(ts, Entry::Softirq(softirq), task);
        self.open.push(Open { facts, phase: Phase::Softirq, last_ns: ts, nested_ns: 0, softirqs_ran: false });
    }

    pub(super) fn exit_softirq(&mut self, ts: u64, log: &Log) {
        if let Some(own) = self.open.last_mut().filter(|open| matches!(open.facts.entry, Entry::Softirq(_))) {
            own.last_ns = ts;
            if self.open.len() > 1 {
                self.close(log);
            }
        }
        if let Some(open) = self.open.last_mut().filter(|open| open.phase == Phase::Softirq) {
            open.phase = Phase::Exit;
        }
    }

    /// Ends the innermost interrupt.
    pub(super) fn close(&mut self, log: &Log) {
        let Some(mut open) = self.open.pop() else { return };
        let whole_ns = open.last_ns.saturating_sub(open.facts.start_ns);
        open.facts.nested_ns = open.nested_ns.min(whole_ns);
        open.facts.duration_ns = whole_ns - open.facts.nested_ns;
        open.facts.newcomers = self.fresh(log);
        self.untold_calls(&mut open.facts, open.last_ns);
        if let Some(outer) = self.open.last_mut().or(self.turn.as_mut()) {
            outer.nested_ns = outer.nested_ns.saturating_add(whole_ns);
        }
        let owes_timers = open.facts.awaits_timers();
        let brings = open.facts.is_from_another_cpu() || open.facts.deadline_timer().is_some();
        let awaits_newcomer = brings && open.facts.newcomers.is_empty();
        self.hold(open.facts, owes_timers, awaits_newcomer);
    }
}
