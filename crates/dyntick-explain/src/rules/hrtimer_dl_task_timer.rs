// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:dl_task_timer",
    title: "The budget of a deadline task was refilled",
    explanation: "A task under SCHED_DEADLINE that has used its runtime waits for its next period, which a \
        timer begins.",
    fixes: &[Fix {
        setting: Setting::Program("run deadline tasks on other CPUs"),
        effect: "Their timers run where they do.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/sched/deadline.c: dl_task_timer",
    names_origin: true,
    detect: None,
};
