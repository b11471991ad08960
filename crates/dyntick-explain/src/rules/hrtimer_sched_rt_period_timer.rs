// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:sched_rt_period_timer",
    title: "RT throttling: period timer",
    explanation: "While real-time tasks run, a timer replenishes their runtime (950 ms of every second by \
        default) each period.",
    fixes: &[RuleFix {
        action: Fix::Command("sysctl -w kernel.sched_rt_runtime_us=-1"),
        effect: not_tried!("No limit; a real-time task that never sleeps can then hang its CPU."),
        versions: Versions::ALL,
    }],
    versions: Versions::before(6, 12),
    source: "kernel/sched/rt.c: sched_rt_period_timer",
    names_origin: true,
};
