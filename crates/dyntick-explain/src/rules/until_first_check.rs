// SPDX-License-Identifier: GPL-2.0-only
use super::Rule;
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "until-first-check",
    title: "Tick not yet stopped: first check since the CPU became busy",
    explanation: "A nohz_full CPU stops its tick only at the end of an interrupt, or when it leaves idle \
        with the tick stopped. A task that starts while the tick runs gets one more tick, at the end of \
        which the tick is stopped.",
    source: "kernel/time/tick-sched.c: tick_nohz_irq_exit",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let stopped_it =
        case.facts.decision.is_some_and(|decision| decision.stopped) && case.facts.kept.is_none();
    if *case.kind != Kind::Tick || !case.adaptive() || case.idle() || !stopped_it {
        return None;
    }
    let ran = Step::RanWithTick { victim: case.facts.victim.clone(), cpu: case.cpu() };
    Finding::new(CauseId::of(&RULE), [ran, Step::NoDependencyLeft])
}
