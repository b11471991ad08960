// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:sched_cfs_period_timer",
    title: "CFS bandwidth control: quota of a control group refilled",
    explanation: "A group with a CPU limit (cpu.max) gets a new quota each period, by a timer on some CPU \
        of the group.",
    fixes: &[RuleFix {
        action: Fix::Command("echo max > /sys/fs/cgroup/{group}/cpu.max"),
        effect: "Removes the limit, and the timer stops.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/sched/fair.c: sched_cfs_period_timer",
    names_origin: true,
};
