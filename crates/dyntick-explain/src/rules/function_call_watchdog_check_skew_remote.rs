// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:watchdog_check_skew_remote",
    title: "Clocksource watchdog: TSC skew check between CPUs",
    explanation: "Where the time stamp counter (TSC) is not known to be reliable, a timer on one CPU has \
        the others, one after the other, read their counters together with it. The check of the frequency \
        stays on the CPU of the timer.",
    fixes: &[
        RuleFix {
            action: Fix::Boot("tsc=reliable"),
            effect: not_tried!(
                "No comparison. Only right where the TSC really has a constant rate and is synchronised on \
                 all CPUs."
            ),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("tsc=nowatchdog"),
            effect: not_tried!("The same, but the TSC may still be checked at boot."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::since(7, 1),
    source: "kernel/time/clocksource.c: watchdog_check_skew_remote",
    names_origin: true,
};
