// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "timekeeper",
    title: "This CPU keeps the time for all others",
    explanation: "As soon as any CPU is in nohz_full, one housekeeping CPU updates the clock for all. It may \
        not stop its tick, not even when it is idle, or the others would see the time stand still.",
    fixes: &[Fix {
        setting: Setting::Program("run the work to be left alone on another CPU"),
        effect: "Nothing stops the tick of the timekeeper while nohz_full is in use; normally it is \
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
        format!("{} keeps the time and may not stop its tick in idle", case.cpu()),
    ];
    applies.then(|| Finding::new(CauseId::class("timekeeper"), chain)).flatten()
}
