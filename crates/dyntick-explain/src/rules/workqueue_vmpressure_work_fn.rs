// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:vmpressure_work_fn",
    title: "vmpressure: pressure on the memory of a control group reported (worker)",
    explanation: "Tasks of a control group reclaim memory, because the group is at its limit (memory.high, memory.max) or the \
        machine is short of memory. A work item on the CPU of the one that reclaims tells listeners and sockets.",
    fixes: &[RuleFix {
        action: Fix::Advice(
            "raise the limit of the group (memory.high, memory.max), or use less memory in it",
        ),
        effect: "The work only reports the pressure. While there is pressure, reclaim itself takes far longer.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "mm/vmpressure.c: vmpressure, vmpressure_work_fn",
    names_origin: true,
};
