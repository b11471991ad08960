// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "timekeeper",
    title: "Timekeeping CPU: its tick does not stop while nohz_full is in use",
    explanation: "As soon as any CPU is in nohz_full, one housekeeping CPU (tick_do_timer_cpu) does the \
        timekeeping for all. It may not stop its tick, not even when it is idle, because the time would stop \
        for the others.",
    fixes: &[RuleFix::advice(
        "run the work that must not be interrupted on another CPU",
        "Nothing stops the tick of the timekeeping CPU while nohz_full is in use; normally it is the boot \
            CPU, CPU 0.",
    )],
    source: "kernel/time/tick-sched.c: can_stop_idle_tick",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let cpu = case.cpu();
    if *case.kind != Kind::Tick || !case.idle() || case.timekeeper != Some(cpu) {
        return None;
    }
    let cpus = case.context.nohz_full.clone();
    Finding::new(CauseId::of(&RULE), [Step::AdaptiveCpus { cpus }, Step::Timekeeper { cpu }])
}
