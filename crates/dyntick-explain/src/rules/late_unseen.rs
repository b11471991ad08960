// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-unseen",
    title: "Not attributed: no trace events from that time",
    explanation: "The ring buffer has no event from before this time, so it is not known what ran.",
    fixes: &[],
    versions: Versions::ALL,
    source: "kernel/trace/ring_buffer.c",
    names_origin: false,
};
