// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:dl_task_timer",
    title: "SCHED_DEADLINE task replenished (dl_task_timer)",
    explanation: "A task under SCHED_DEADLINE that has used its runtime is throttled until its next period, \
        which a timer starts.",
    fixes: &[RuleFix {
        action: Fix::Advice("run deadline tasks on other CPUs"),
        effect: "Their timers expire on the CPUs on which they run.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/sched/deadline.c: dl_task_timer",
    names_origin: true,
};
