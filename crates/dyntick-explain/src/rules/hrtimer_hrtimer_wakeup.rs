// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:hrtimer_wakeup",
    title: "Timed sleep ended (nanosleep, poll, futex timeout)",
    explanation: "nanosleep, poll or a futex wait with a timeout ended. If the task runs on this CPU, its \
        own sleep caused this; if it runs elsewhere, it armed the timer while it was on this CPU.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("sleep less often, or poll without sleeping"),
            effect: "Each sleep costs one interrupt.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice(
                "increase the timer slack (prctl PR_SET_TIMERSLACK) of tasks that need no precision",
            ),
            effect: "Wake-ups that are close together share one interrupt.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: hrtimer_wakeup",
    names_origin: true,
};
