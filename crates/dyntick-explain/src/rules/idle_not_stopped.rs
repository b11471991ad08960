// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};
use dyntick_model::Softirq;

pub(super) static RULE: Rule = Rule {
    id: "idle-not-stopped",
    title: "Idle CPU with its tick still running",
    explanation: "When it goes idle, a CPU keeps its tick if the next timer expires within one period, if \
        RCU callbacks are pending on it, or if the cpuidle governor expects an earlier wake-up. When the \
        tick then fires, the governor selects a state again.",
    fixes: &[
        Fix {
            setting: Setting::Boot("rcu_nocbs=N"),
            effect: not_tried!(
                "Moves RCU callbacks to threads, so that they no longer keep the tick of an idle CPU."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("cpuidle.governor=teo"),
            effect: not_tried!("Uses the TEO cpuidle governor, where the kernel has it built in."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/idle.c: cpuidle_idle_call; kernel/time/tick-sched.c: tick_nohz_next_event",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    if *case.kind != Kind::Tick || !case.idle() {
        return None;
    }
    let due = case.due_timer().map(|timer| format!("timer {} was due in it", timer.function));
    let raised = case.facts.raised.contains(&Softirq::Rcu);
    let offloaded = case.context.rcu_nocbs.contains(case.facts.cpu);
    let rcu =
        (raised && !offloaded).then(|| format!("RCU had work on {}, which is not in rcu_nocbs", case.cpu()));
    let idle = format!("{} was idle with its tick still running", case.cpu());
    Finding::new(CauseId::class("idle-not-stopped"), due.into_iter().chain(rcu).chain([idle]))
}
