// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "not-adaptive",
    title: "Periodic tick: busy CPU that is not in nohz_full",
    explanation: "A busy CPU is interrupted HZ times a second for time accounting and for the scheduler. \
        Only nohz_full CPUs may stop their tick while they run a single task.",
    fixes: &[RuleFix::boot(
        "nohz_full={quiet}",
        with_nohz_full!("Lets the CPU stop its tick while it runs one task."),
    )],
    source: "kernel/time/tick-sched.c: tick_nohz_handler (tick_sched_timer until 6.8)",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let is_known = !case.context.known.adaptive_unknown;
    if *case.kind != Kind::Tick || !is_known || case.adaptive() || case.idle() {
        return None;
    }
    let ticked = Step::TickedAtHz { victim: case.facts.victim.clone(), hz: case.context.hz };
    let reason = if case.context.known.no_adaptive_ticks {
        Step::NoAdaptiveTicks
    } else {
        Step::NotAdaptive { cpu: case.cpu() }
    };
    Finding::new(CauseId::of(&RULE), [reason, ticked])
}
