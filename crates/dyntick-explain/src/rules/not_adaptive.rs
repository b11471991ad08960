// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "not-adaptive",
    title: "The CPU was busy and is not set up to stop its tick",
    explanation: "A busy CPU is interrupted HZ times a second to account time and to let the scheduler look. \
        Only CPUs in the nohz_full set may leave that out while they run a single task.",
    fixes: &[Fix {
        setting: Setting::Boot("nohz_full=N"),
        effect: "Lets the CPU stop its tick while it runs one task. The kernel needs \
                CONFIG_NO_HZ_FULL, and every entry into the kernel on that CPU becomes dearer by \
                some hundred instructions. On 6.12 it then has the fair server (fair-server), which has a fix of its own.",
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
