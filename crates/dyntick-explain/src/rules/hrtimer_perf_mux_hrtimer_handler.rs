// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:perf_mux_hrtimer_handler",
    title: "perf event multiplexing (more events than counters)",
    explanation: "More perf events were opened on the CPU than it has counters, so a timer rotates them.",
    fixes: &[RuleFix {
        action: Fix::Advice("measure fewer events at a time"),
        effect: "All events fit; none is rotated.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/events/core.c: perf_mux_hrtimer_handler",
    names_origin: true,
};
