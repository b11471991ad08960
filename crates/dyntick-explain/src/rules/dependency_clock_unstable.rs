// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Step};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-clock-unstable",
    title: "Tick dependency CLOCK_UNSTABLE: sched_clock() is unstable",
    explanation: "The kernel found that the time stamp counters (TSC) of the CPUs disagree or change their \
        rate. It then corrects its scheduler clock in each tick, so no busy CPU may stop it.",
    fixes: &[
        RuleFix::boot(
            "tsc=reliable",
            "Trusts the TSC without checks. Only right if it really has a constant rate and is \
                synchronised on all CPUs (many virtual machines).",
        ),
        RuleFix::advice(
            "check what dmesg reports about the tsc, and update the firmware",
            "dmesg shows how the counters disagree; firmware updates often fix it.",
        ),
    ],
    source: "kernel/sched/clock.c: __clear_sched_clock_stable",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if case.dependency() != Some(TickDependency::ClockUnstable) || case.idle() {
        return None;
    }
    let clocksource = case.context.known.clocksource.clone();
    let kept = Step::KeptForClock { task: case.kept_by().clone(), cpu: case.cpu() };
    Finding::new(CauseId::of(&RULE), [Step::ClockUnstable { clocksource }, kept])
}
