// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:watchdog_check_skew_remote",
    title: "The kernel compared the clocks of two CPUs with each other",
    explanation: "Where the time stamp counter is not known to be good, a timer on one CPU asks the others, one after the other, to \
        read their counters with it. The check of the frequency stays on the CPU of the timer.",
    fixes: super::timer_clocksource_watchdog::TRUST_THE_COUNTER,
    versions: Versions::since(7, 1),
    source: "kernel/time/clocksource.c: watchdog_check_skew_remote",
    names_origin: true,
    detect: None,
};
