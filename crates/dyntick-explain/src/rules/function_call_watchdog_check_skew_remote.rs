// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:watchdog_check_skew_remote",
    title: "The kernel compared the clocks of two CPUs with each other",
    explanation: "Where the time stamp counter is not known to be good, a timer on one CPU asks the others, one after the other, to \
        read their counters with it. The check of the frequency stays on the CPU of the timer.",
    fixes: &[
        Fix {
            setting: Setting::Boot("tsc=reliable"),
            effect: not_tried!(
                "No comparison. Only right where the counter really is steady and in step on all CPUs."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("tsc=nowatchdog"),
            effect: not_tried!("The same, and the counter may still be checked at boot."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::since(7, 1),
    source: "kernel/time/clocksource.c: watchdog_check_skew_remote",
    names_origin: true,
    detect: None,
};
