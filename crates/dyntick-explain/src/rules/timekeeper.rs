// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "timekeeper",
    title: "Timekeeping CPU: its tick does not stop while nohz_full is in use",
    explanation: "As soon as any CPU is in nohz_full, one housekeeping CPU (tick_do_timer_cpu) does the \
        timekeeping for all. It may not stop its tick, not even when it is idle, because the time would \
        stop for the others.",
    fixes: &[Fix {
        setting: Setting::Program("run the work that must not be interrupted on another CPU"),
        effect: "Nothing stops the tick of the timekeeping CPU while nohz_full is in use; normally it is \
                the boot CPU, CPU 0.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/time/tick-sched.c: can_stop_idle_tick",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let applies = *case.kind == Kind::Tick && case.idle() && case.timekeeper == Some(case.facts.cpu);
    let chain = [
        format!("nohz_full={} is in use", case.context.nohz_full),
        format!("{} is the timekeeping CPU and may not stop its tick in idle", case.cpu()),
    ];
    applies.then(|| Finding::new(CauseId::class("timekeeper"), chain)).flatten()
}
