// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "irq-work:nohz_full_kick_func",
    title: "The CPU was to decide on its tick again, and nothing came of it",
    explanation: "When something begins to need the tick of a nohz_full CPU, or a timer is set for it, it is \
        interrupted, by itself or another CPU, because only the end of an interrupt decides on the tick. Here the need \
        was over by then, or nothing changed.",
    fixes: &[],
    versions: Versions::ALL,
    source: "kernel/time/tick-sched.c: tick_nohz_full_kick, tick_nohz_full_kick_cpu; kernel/sched/core.c: wake_up_full_nohz_cpu",
    names_origin: true,
    detect: None,
};
