// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "not-adaptive",
    title: "Periodic tick: busy CPU that is not in nohz_full",
    explanation: "A busy CPU is interrupted HZ times a second for time accounting and for the scheduler. \
        Only nohz_full CPUs may stop their tick while they run a single task.",
    fixes: &[Fix {
        setting: Setting::Boot("nohz_full=N"),
        effect: "Lets the CPU stop its tick while it runs one task. The kernel needs CONFIG_NO_HZ_FULL, and \
                every kernel entry on that CPU becomes more expensive by some hundred instructions. On 6.12 \
                it then has the fair server (fair-server), which has a separate fix.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/time/tick-sched.c: tick_nohz_handler (tick_sched_timer until 6.8)",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let applies = *case.kind == Kind::Tick && !case.adaptive() && !case.idle();
    let chain = [
        format!("{} is not in nohz_full", case.cpu()),
        format!("it was busy with {}, so its tick ran at HZ={}", case.facts.victim, case.context.hz),
    ];
    applies.then(|| Finding::new(CauseId::class("not-adaptive"), chain)).flatten()
}
