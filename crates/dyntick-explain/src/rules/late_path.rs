// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-path",
    title: "Wake-up path: timer interrupt, wake-up, context switch",
    explanation: "Every wake-up takes this time; tracing makes it longer.",
    fixes: &[],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: hrtimer_wakeup; kernel/sched/core.c: try_to_wake_up, __schedule",
    names_origin: true,
};
