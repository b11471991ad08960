// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "remote-timer",
    title: "Timer migration: an isolated CPU ran another CPU's timers in its tick",
    explanation: "Idle CPUs leave their unbound timers to an active CPU, the migrator of their group. \
        Before 6.19 that may be an isolated CPU: an isolated CPU without nohz_full that never goes idle \
        becomes the migrator, and its tick runs the timers of all idle housekeeping CPUs.",
    fixes: &[Fix {
        setting: Setting::Boot("nohz_full=N"),
        effect: not_tried!(
            "The CPU is then never the migrator while its tick is stopped. On 6.12 it then has the fair \
             server (fair-server), which has a separate fix."
        ),
        versions: Versions::ALL,
    }],
    versions: Versions::between((6, 9), (6, 19)),
    source: "kernel/time/timer_migration.c: tmigr_handle_remote; kernel/time/timer.c: timer_expire_remote",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let isolated = case.context.isolated.contains(case.facts.cpu) && !case.adaptive();
    let applies = *case.kind == Kind::Tick && isolated && RULE.versions.contains(&case.context.kernel);
    let foreign = |base: &u32| *base != case.facts.cpu;
    let mut timers = case.facts.timers.iter().filter(|_| applies);
    let (timer, base) = timers.find_map(|timer| Some((timer, timer.base.filter(foreign)?)))?;
    let setter = timer.set_by.iter().map(|by| format!("{by} set a timer"));
    let chain = setter.chain([
        format!("timer {} of CPU {base} was due", timer.function),
        format!("{} is isolated and ticks, and ran it", case.cpu()),
    ]);
    Finding::new(CauseId::class("remote-timer"), chain)
}
