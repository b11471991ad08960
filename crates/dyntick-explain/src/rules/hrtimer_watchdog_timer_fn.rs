// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:watchdog_timer_fn",
    title: "Soft-lockup watchdog timer",
    explanation: "Every 2/5 of kernel.watchdog_thresh (4 s by default) a timer on each watched CPU wakes \
        its stopper thread (migration/N) and checks that it ran. nohz_full CPUs are not watched by default.",
    fixes: &[
        RuleFix {
            action: Fix::Command("sysctl -w kernel.watchdog_cpumask={housekeeping}"),
            effect: "Only the housekeeping CPUs are watched.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("sysctl -w kernel.soft_watchdog=0"),
            effect: "No soft-lockup watchdog at all.",
            versions: Versions::ALL,
        },
        RuleFix { action: Fix::Boot("nosoftlockup"), effect: "The same from boot.", versions: Versions::ALL },
    ],
    versions: Versions::ALL,
    source: "kernel/watchdog.c: watchdog_timer_fn",
    names_origin: true,
};
