// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:perf_swevent_hrtimer",
    title: "perf sampling by an hrtimer (cpu-clock, task-clock)",
    explanation: "A perf event on a software clock (cpu-clock, task-clock) samples by an hrtimer; perf \
        record uses one where the machine has no hardware counters, as in most virtual machines.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("stop the profiler, or exclude this CPU from it"),
            effect: "No event, no timer.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("sample less often (perf record -F 99, or -c with a longer period)"),
            effect: "One interrupt per sample.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/events/core.c: perf_swevent_hrtimer",
    names_origin: true,
};
