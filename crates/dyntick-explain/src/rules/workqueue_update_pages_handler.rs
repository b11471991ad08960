// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:update_pages_handler",
    title: "Trace ring buffer of this CPU resized",
    explanation: "Each CPU resizes its own part of the trace ring buffer, in a work item. Tracers do so \
        when they start.",
    fixes: &[RuleFix {
        action: Fix::Advice("start and stop tracing outside of the quiet phase"),
        effect: "No buffer is resized.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/trace/ring_buffer.c: update_pages_handler",
    names_origin: true,
};
