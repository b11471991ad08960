// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:hrtick",
    title: "HRTICK: an hrtimer ended a time slice",
    explanation: "With the scheduler feature HRTICK (and HRTICK_DL for SCHED_DEADLINE), time slices end by a separate \
        hrtimer and not in the tick. From 7.1 on both are on by default where the architecture can rearm the timer \
        late (CONFIG_HRTIMER_REARM_DEFERRED, as on x86).",
    fixes: &[RuleFix {
        action: Fix::Command("echo NO_HRTICK > /sys/kernel/debug/sched/features"),
        effect: "Time slices end in the tick again.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: hrtick",
    names_origin: true,
};
