// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "remote-timer",
    title: "Timer migration: an isolated CPU ran another CPU's timers in its tick",
    explanation: "Idle CPUs leave their unbound timers to an active CPU, the migrator of their group. Before \
        6.19 that may be an isolated CPU: an isolated CPU without nohz_full that never goes idle becomes the \
        migrator, and its tick runs the timers of all idle housekeeping CPUs.",
    fixes: &[RuleFix::boot(
        "nohz_full={quiet}",
        with_nohz_full!("The CPU is then never the migrator while its tick is stopped. Not tried here."),
    )],
    versions: Versions::between((6, 9), (6, 19)),
    source: "kernel/time/timer_migration.c: tmigr_handle_remote; kernel/time/timer.c: timer_expire_remote",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let cpu = case.cpu();
    let isolated = case.context.isolated.contains(cpu) && !case.adaptive();
    if *case.kind != Kind::Tick || !isolated || !RULE.versions.contains(&case.context.kernel) {
        return None;
    }
    let mut timers = case.facts.timers.iter();
    let (timer, base) = timers.find_map(|timer| Some((timer, timer.base.filter(|base| *base != cpu)?)))?;
    let set = timer.set_by.iter().map(|by| Step::SetTimer { by: by.into() });
    let due = Step::TimerOfOtherDue { function: timer.function.clone(), base };
    Finding::new(CauseId::of(&RULE), set.chain([due, Step::TicksInIsolation { cpu }]))
}
