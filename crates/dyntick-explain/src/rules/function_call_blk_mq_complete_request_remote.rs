// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:__blk_mq_complete_request_remote",
    title: "blk-mq: remote completion of a block request (IPI)",
    explanation: "The interrupt of the device was handled by another CPU, which handed the completion back \
        to the CPU that had submitted the request (or to one that shares its cache).",
    fixes: &[
        RuleFix {
            action: Fix::Command("echo 0 > /sys/block/DEVICE/queue/rq_affinity"),
            effect: untried!("Requests are completed on the CPU that takes the interrupt."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("read and write files on housekeeping CPUs only"),
            effect: "Completions go to the CPU that submitted the request.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "block/blk-mq.c: blk_mq_complete_request_remote",
    names_origin: true,
};
