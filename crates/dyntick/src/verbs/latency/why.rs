// SPDX-License-Identifier: GPL-2.0-only
//! Late wake-ups, from the measuring threads to their explanation.

mod page;

pub use page::document;

use super::arguments::Arguments;
use dyntick_latency::{Late, Plan, Running, Shared};
use dyntick_record::late::{LateRecorder, LateReport, Meanwhile, WakeUp};

/// Follows the late wake-ups of a measurement.
pub struct Why {
    recorder: LateRecorder,
    /// The number of the next late wake-up.
    next: u64,
}

impl Why {
    /// Starts recording, if causes are requested. If that is refused, the measurement continues without it.
    pub fn start(arguments: &Arguments, plan: &Plan, idle_polls: bool) -> Option<Self> {
        let breaks = plan.break_above.is_some() && !arguments.tracemark;
        let most = if arguments.why.is_some() { arguments.why_max } else { 0 };
        let meanwhile = Meanwhile { idle_polls, counts_smi: plan.smi };
        let recorder = || LateRecorder::start(plan.measured(), most, meanwhile);
        (arguments.why.is_some() || breaks).then(|| Self { recorder: recorder(), next: 0 })
    }

    /// The reason why late wake-ups are not explained.
    pub fn trouble(&self) -> Option<&str> {
        self.recorder.trouble()
    }

    /// Takes the late wake-ups since the last call.
    pub fn look(&mut self, running: &Running) {
        self.note(running.plan(), running.shared());
    }

    /// Explains the worst ones, after all threads have ended.
    pub fn finish(mut self, plan: &Plan, shared: &Shared) -> LateReport {
        self.note(plan, shared);
        self.recorder.finish()
    }

    fn note(&mut self, plan: &Plan, shared: &Shared) {
        let wake_up = |late: Late| {
            let own = plan.threads[late.thread];
            WakeUp {
                thread: late.thread,
                cpu: own.cpu,
                tid: shared.threads[late.thread].tid(),
                priority: own.priority,
                cycle: late.cycle,
                due_ns: late.due_ns,
                woke_ns: late.woke_ns,
            }
        };
        let all = |lates: Vec<Late>| lates.into_iter().map(wake_up).collect::<Vec<_>>();
        self.recorder.note(&all(shared.broke.kept()), true);
        self.recorder.note(&all(shared.recent.since(&mut self.next)), false);
    }
}
