// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "softirq:BLOCK",
    title: "BLOCK softirq: completion of block requests",
    explanation: "A request is completed on the CPU that submitted it, or on one that shares its cache.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("do not read and write files from this CPU"),
            effect: "No request, no completion.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("echo 0 > /sys/block/DEVICE/queue/rq_affinity"),
            effect: untried!("Requests are completed on the CPU that takes the interrupt."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "block/blk-mq.c: blk_done_softirq",
    names_origin: true,
};
