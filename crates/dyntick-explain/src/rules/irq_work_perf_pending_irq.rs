// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "irq-work:perf_pending_irq",
    title: "A perf event had something to tell its reader",
    explanation: "A sample was taken where nobody may be woken (in an NMI, a timer or the scheduler), so the CPU \
        interrupts itself to wake the program that reads the samples.",
    fixes: &[
        Fix {
            setting: Setting::Program("stop the profiler, or have it leave this CPU out"),
            effect: "No sample, no interrupt.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "have the reader woken less often (attr.watermark with a large wakeup_watermark)",
            ),
            effect: "One interrupt for many samples.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/events/core.c: __perf_event_overflow, perf_pending_irq",
    names_origin: true,
    detect: None,
};
