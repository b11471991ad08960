// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:hrtick",
    title: "The scheduler ended a slice to the microsecond",
    explanation: "With the scheduler feature HRTICK slices end by a timer of their own and not in the tick.",
    fixes: &[Fix {
        setting: Setting::Command("echo NO_HRTICK > /sys/kernel/debug/sched/features"),
        effect: "Slices end in ticks again.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: hrtick",
    names_origin: true,
    detect: None,
};
