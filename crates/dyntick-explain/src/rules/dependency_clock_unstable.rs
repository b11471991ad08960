// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-clock-unstable",
    title: "The CPU's clock is not trusted",
    explanation: "The kernel found that the time stamp counters of the CPUs disagree or change their rate. It \
        then corrects its scheduler clock in each tick, so no busy CPU may stop it.",
    fixes: &[
        Fix {
            setting: Setting::Boot("tsc=reliable"),
            effect: "Trusts the counter without checks. Only right where it really is steady and in step \
                on all CPUs (many virtual machines).",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("see what dmesg says of the tsc, and update the firmware"),
            effect: "It says how the counters disagree; firmware updates often fix it.",
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
