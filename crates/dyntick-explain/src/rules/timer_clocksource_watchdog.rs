// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "timer:clocksource_watchdog",
    title: "The kernel compared two clocks with each other",
    explanation: "Where the time stamp counter is not known to be good, a timer compares it with another \
        clock every half second, on one CPU after the other. From 7.1 on the timer stays where it is, and asks the \
        other CPUs by a function call (function-call:watchdog_check_skew_remote).",
    fixes: &[
        Fix {
            setting: Setting::Boot("tsc=reliable"),
            effect: "No comparison. Only right where the counter really is steady and in step on all \
                CPUs.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("tsc=nowatchdog"),
            effect: "The same, and the counter may still be checked at boot.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/clocksource.c: clocksource_watchdog",
    names_origin: true,
    detect: None,
};
