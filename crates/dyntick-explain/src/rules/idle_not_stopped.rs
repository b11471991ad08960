// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};
use dyntick_model::Softirq;

pub(super) static RULE: Rule = Rule {
    id: "idle-not-stopped",
    title: "Idle CPU with its tick still running",
    explanation: "When it goes idle, a CPU keeps its tick if the next timer expires within one period, if \
        RCU callbacks are pending on it, or if the cpuidle governor expects an earlier wake-up. When the \
        tick then fires, the governor selects a state again.",
    fixes: &[
        RuleFix::boot(
            "rcu_nocbs={quiet}",
            not_tried!(
                "Moves RCU callbacks to threads, so that they no longer keep the tick of an idle CPU."
            ),
        ),
        RuleFix::boot(
            "cpuidle.governor=teo",
            not_tried!("Uses the TEO cpuidle governor, if the kernel has it built in."),
        ),
    ],
    source: "kernel/sched/idle.c: cpuidle_idle_call; kernel/time/tick-sched.c: tick_nohz_next_event",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    // The timer of a stopped tick, which is set for the timer wheel, would look the same.
    let shows_stops = case.context.known.recorded.has_stopped_ticks();
    if *case.kind != Kind::Tick || !case.idle() || !shows_stops {
        return None;
    }
    let cpu = case.cpu();
    let due = case.due_timer().map(|timer| Step::TimerDueInTick { function: timer.function.clone() });
    let raised = case.facts.raised.contains(&Softirq::Rcu);
    let offloaded = case.context.rcu_nocbs.contains(cpu) || case.context.known.isolation_unknown;
    let rcu = (raised && !offloaded).then_some(Step::RcuNotOffloaded { cpu });
    Finding::new(CauseId::of(&RULE), due.into_iter().chain(rcu).chain([Step::IdleWithTick { cpu }]))
}
