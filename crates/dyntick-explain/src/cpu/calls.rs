// SPDX-License-Identifier: GPL-2.0-only
//! Functions that other CPUs have one CPU run.

use super::Cpu;
use super::interrupts::IPI_TRAVEL_NS;
use crate::facts::*;
use dyntick_model::{Symbol, Vector};

/// What is queued like a function of its own and only brings something else: a task that was woken,
/// or the question whether the tick is needed.
const MESSENGERS: [&str; 2] = ["sched_ttwu_pending", "nohz_full_kick_func"];

impl Cpu {
    /// A function begins that another CPU asked for.
    pub(super) fn call(&mut self, function: Symbol) {
        let request = self.requests.iter().position(|request| request.function == function);
        let by = request.and_then(|position| self.requests.remove(position).by);
        self.with_top(|facts| facts.called.push(Call { function, by }));
    }

    /// Functions that were asked for before this interrupt ended and whose run no event told: so it is
    /// with work for interrupt context that was queued for another CPU (`irq_work_queue_on`).
    pub(super) fn untold_calls(&mut self, facts: &mut Facts, end_ns: u64) {
        let call = matches!(facts.entry, Entry::Vector(Vector::CallFunction | Vector::CallFunctionSingle));
        if !call {
            return;
        }
        let sent = |request: &Call| request.by.as_ref().map_or(0, |send| send.ts);
        let (due, later) = self.requests.drain(..).partition::<Vec<_>, _>(|request| sent(request) <= end_ns);
        self.requests = later;
        for request in due.into_iter().filter(|request| end_ns - sent(request) <= IPI_TRAVEL_NS) {
            match MESSENGERS.contains(&&*request.function) {
                true => facts.senders.extend(request.by),
                false => facts.called.push(request),
            }
        }
    }
}
