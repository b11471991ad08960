// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:retrigger_next_event",
    title: "hrtimers reprogrammed: the clock was set, or a CPU went offline",
    explanation: "When the time of day is set (clock_settime, date, an NTP client that steps) or a CPU goes \
        offline, CPUs with timers that may be affected are interrupted to reprogram them.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "slew the clock instead of stepping it (chrony without makestep), and set it before the \
                 quiet phase",
            ),
            effect: "Slewing interrupts no CPU.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("arm timers on CLOCK_MONOTONIC in the quiet program"),
            effect: "Only CPUs with timers on the clocks that were set are interrupted.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: clock_was_set, hrtimers_cpu_dying, retrigger_next_event",
    names_origin: true,
};
