// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:blk_mq_run_work_fn",
    title: "blk-mq: deferred block requests dispatched (worker)",
    explanation: "Deferred requests are dispatched to the device by a worker on the CPU of their queue.",
    fixes: &[RuleFix {
        action: Fix::Advice("do not read and write files from this CPU"),
        effect: "Each CPU has its own queues.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "block/blk-mq.c: blk_mq_run_work_fn",
    names_origin: true,
};
