// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:__blk_mq_complete_request_remote",
    title: "A block device had finished what this CPU asked of it",
    explanation: "The interrupt of the device came to another CPU, which handed the completion back to the one that had sent the \
        request (or to one that shares its cache).",
    fixes: &[
        Fix {
            setting: Setting::Command("echo 0 > /sys/block/DEVICE/queue/rq_affinity"),
            effect: untried!("Requests are completed where the interrupt comes."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("leave the reading and writing of files to housekeeping CPUs"),
            effect: "Completions go to the CPU that asked.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "block/blk-mq.c: blk_mq_complete_request_remote",
    names_origin: true,
    detect: None,
};
