// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-unseen",
    title: "Not attributed: the trace does not tell what the CPU did",
    explanation: "No event before this time is in the ring, so nobody knows what ran.",
    fixes: &[],
    versions: Versions::ALL,
    source: "kernel/trace/ring_buffer.c",
    names_origin: false,
    detect: None,
};
