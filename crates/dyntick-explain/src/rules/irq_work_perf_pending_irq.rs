// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "irq-work:perf_pending_irq",
    title: "perf: deferred wake-up of the reader",
    explanation: "A sample was taken in a context that may not wake a task (in an NMI, a timer or the \
        scheduler), so the CPU sends itself an IPI to wake the process that reads the samples.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("stop the profiler, or exclude this CPU from it"),
            effect: "No sample, no interrupt.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("wake the reader less often (attr.watermark with a large wakeup_watermark)"),
            effect: "One interrupt for many samples.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/events/core.c: __perf_event_overflow, perf_pending_irq",
    names_origin: true,
};
