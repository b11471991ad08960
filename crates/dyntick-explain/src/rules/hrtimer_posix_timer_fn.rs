// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:posix_timer_fn",
    title: "POSIX timer expired (timer_create)",
    explanation: "A process has armed a POSIX timer on a wall-clock or monotonic clock (not a CPU-time \
        clock). It expires on the CPU where it was armed; on nohz_full CPUs it is queued on a housekeeping \
        CPU instead.",
    fixes: &[RuleFix {
        action: Fix::Advice("arm it from a thread on a housekeeping CPU, or use a longer interval"),
        effect: "The interrupt occurs on the CPU where the timer was armed.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/time/posix-timers.c: posix_timer_fn",
    names_origin: true,
};
