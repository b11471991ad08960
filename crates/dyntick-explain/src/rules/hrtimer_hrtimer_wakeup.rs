// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:hrtimer_wakeup",
    title: "A task that slept for a set time was woken",
    explanation: "nanosleep, poll or a futex with a time limit ended. If the task runs here this is its own \
        doing; if it runs elsewhere its timer was set while it was here.",
    fixes: &[
        Fix {
            setting: Setting::Program("sleep less often, or poll without sleeping"),
            effect: "One interrupt per sleep is what sleeping costs.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "raise the timer slack (prctl PR_SET_TIMERSLACK) of tasks that need no precision",
            ),
            effect: "Wake-ups that are near each other share one interrupt.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: hrtimer_wakeup",
    names_origin: true,
    detect: None,
};
