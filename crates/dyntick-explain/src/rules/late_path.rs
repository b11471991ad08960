// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-path",
    title: "The wake-up itself: the timer interrupt, the waking, the switch to the thread",
    explanation: "Each wake-up has this part; tracing it makes it longer.",
    fixes: &[],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: hrtimer_wakeup; kernel/sched/core.c: try_to_wake_up, __schedule",
    names_origin: true,
    detect: None,
};
