// SPDX-License-Identifier: GPL-2.0-only
//! The entries of a CPU without an interrupt's begin and end: NMIs and page faults.

use super::Cpu;
use crate::facts::*;
use crate::log::Log;
use crate::names;
use dyntick_model::{Event, Symbol};

impl Cpu {
    /// Notes an NMI, which may come anywhere and has one event at its handler's end.
    pub(super) fn take_nmi(&mut self, event: &Event, handler: &Symbol, took_ns: u64, log: &Log) {
        let entry = Entry::Nmi(names::function(handler));
        let mut facts = self.facts(event.ts.saturating_sub(took_ns), entry, log.task(event.pid));
        facts.duration_ns = took_ns;
        facts.events.push(event.clone());
        if let Some(outer) = self.open.last_mut().or(self.turn.as_mut()) {
            outer.nested_ns = outer.nested_ns.saturating_add(took_ns);
        }
        self.end(facts);
        self.nmi = Some((event.ts, names::function(handler)));
    }

    /// Notes a page fault of the task that has the CPU, also in a time slice that interrupts another task.
    pub(super) fn fault(&mut self, event: &Event, user: bool, log: &Log) {
        if event.pid == 0 {
            return;
        }
        let mut facts = self.facts(event.ts, Entry::PageFault { user }, log.task(event.pid));
        facts.events.push(event.clone());
        self.end(facts);
    }
}
