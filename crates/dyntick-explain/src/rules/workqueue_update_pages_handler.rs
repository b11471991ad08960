// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:update_pages_handler",
    title: "The trace buffer of this CPU was resized",
    explanation: "Each CPU changes its own part of the trace buffer, by a work item. Tracers do it when \
        they begin.",
    fixes: &[Fix {
        setting: Setting::Program("begin and end tracing outside of the quiet phase"),
        effect: "No buffer changes.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/trace/ring_buffer.c: update_pages_handler",
    names_origin: true,
    detect: None,
};
