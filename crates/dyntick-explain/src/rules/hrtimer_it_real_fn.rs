// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:it_real_fn",
    title: "Interval timer expired (setitimer ITIMER_REAL, alarm)",
    explanation: "setitimer(ITIMER_REAL) or alarm sends SIGALRM at intervals. The timer expires on the CPU \
        on which it was armed.",
    fixes: &[RuleFix {
        action: Fix::Advice("arm it from a thread on another CPU, or use a thread that sleeps there"),
        effect: "The interrupt occurs on that CPU.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/time/itimer.c: it_real_fn",
    names_origin: true,
};
