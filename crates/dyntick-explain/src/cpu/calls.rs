// SPDX-License-Identifier: GPL-2.0-only
//! The functions that one CPU runs for other CPUs, or that it has queued for itself.

use super::Cpu;
use super::interrupts::IPI_TRAVEL_NS;
use crate::facts::*;
use dyntick_model::{Interrupt, Role, Symbol};

impl Cpu {
    /// Notes the begin of a function that another CPU requested, in an interrupt. In a task's time slice it is no
    /// request: a task that calls a function on every CPU runs it on its own CPU, too
    /// (`kernel/smp.c: smp_call_function_many_cond`).
    pub(super) fn call(&mut self, function: Symbol) {
        let request = self.requests.iter().position(|request| request.function == function);
        let by = request.and_then(|position| self.requests.remove(position).by);
        if let Some(open) = self.open.last_mut() {
            open.facts.called.push(Call { function, by });
        }
    }

    /// Notes the begin of the function of an irq_work.
    pub(super) fn run_irq_work(&mut self, function: &Symbol) {
        self.with_top(|facts| facts.irq_works.push(Call { function: function.clone(), by: None }));
    }

    /// Adds the functions that were requested before the end of this interrupt and whose run no event shows, as with an
    /// irq_work that was queued for another CPU (`irq_work_queue_on`).
    pub(super) fn untold_calls(&mut self, facts: &mut Facts, end_ns: u64) {
        let call =
            matches!(facts.entry, Entry::Vector(Interrupt::FunctionCall | Interrupt::FunctionCallSingle));
        if !call {
            return;
        }
        let sent = |request: &Call| request.by.as_ref().map_or(0, |send| send.ts);
        let (due, later) = self.requests.drain(..).partition::<Vec<_>, _>(|request| sent(request) <= end_ns);
        self.requests = later;
        for request in due.into_iter().filter(|request| end_ns - sent(request) <= IPI_TRAVEL_NS) {
            match Role::of(&request.function) {
                Some(Role::QueuedWakeups) => facts.senders.extend(request.by),
                Some(Role::TickKick) => {
                    facts.senders.extend(request.by.clone());
                    facts.irq_works.push(request);
                }
                _ => facts.called.push(request),
            }
        }
    }
}
