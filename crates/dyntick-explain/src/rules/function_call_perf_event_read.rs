// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:__perf_event_read",
    title: "perf event of this CPU read from another CPU",
    explanation: "A counter that is active on another CPU is read by an IPI to that CPU. perf stat -I and \
        monitoring agents read once per interval.",
    fixes: &[RuleFix {
        action: Fix::Advice("read counters less often, or leave this CPU out (perf stat -C)"),
        effect: "One interrupt per read.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/events/core.c: perf_event_read",
    names_origin: true,
};
