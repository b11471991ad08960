// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:sched_cfs_period_timer",
    title: "The quota of a control group was refilled",
    explanation: "A group with a CPU limit (cpu.max) gets its quota anew each period, by a timer on some \
        CPU of the group.",
    fixes: &[Fix {
        setting: Setting::Command("echo max > /sys/fs/cgroup/GROUP/cpu.max"),
        effect: "Lifts the limit, and the timer ends.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/sched/fair.c: sched_cfs_period_timer",
    names_origin: true,
    detect: None,
};
