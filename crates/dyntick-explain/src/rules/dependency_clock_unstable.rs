// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-clock-unstable",
    title: "Tick dependency CLOCK_UNSTABLE: sched_clock() is unstable",
    explanation: "The kernel found that the time stamp counters (TSC) of the CPUs disagree or change their \
        rate. It then corrects its scheduler clock in each tick, so no busy CPU may stop it.",
    fixes: &[
        Fix {
            setting: Setting::Boot("tsc=reliable"),
            effect: "Trusts the TSC without checks. Only right where it really has a constant rate and is \
                synchronised on all CPUs (many virtual machines).",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("check what dmesg reports about the tsc, and update the firmware"),
            effect: "dmesg shows how the counters disagree; firmware updates often fix it.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/clock.c: __clear_sched_clock_stable",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let applies = case.dependency() == Some(TickDependency::ClockUnstable) && !case.idle();
    let source = case.context.known.clocksource.as_str();
    let unstable = match source {
        "" => "sched_clock() is unstable".to_owned(),
        source => format!("sched_clock() is unstable; the clocksource in use is {source}"),
    };
    let kept =
        format!("with {} running, the tick of {} is kept to correct the clock", case.kept_by(), case.cpu());
    let chain = [unstable, kept];
    applies.then(|| Finding::new(CauseId::class("dependency-clock-unstable"), chain)).flatten()
}
