// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "timer:clocksource_watchdog",
    title: "Clocksource watchdog timer",
    explanation: "Where the time stamp counter (TSC) is not known to be reliable, a timer compares it with \
        another clocksource every half second, on one CPU after the other. From 7.1 on the timer stays on \
        its CPU, and checks the other CPUs by a function-call IPI \
        (function-call:watchdog_check_skew_remote).",
    fixes: &[
        RuleFix {
            action: Fix::Boot("tsc=reliable"),
            effect: "No comparison. Only right where the TSC really has a constant rate and is synchronised \
                on all CPUs.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("tsc=nowatchdog"),
            effect: "The same, but the TSC may still be checked at boot.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/clocksource.c: clocksource_watchdog",
    names_origin: true,
};
