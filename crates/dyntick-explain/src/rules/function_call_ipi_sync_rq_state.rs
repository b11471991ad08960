// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:ipi_sync_rq_state",
    title: "A program registered for membarrier",
    explanation: "On registration each CPU that runs the program is interrupted once to take note of it.",
    fixes: &[Fix {
        setting: Setting::Program("register, or load the libraries that do, before the quiet phase"),
        effect: "It happens once a program.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/sched/membarrier.c: sync_runqueues_membarrier_state",
    names_origin: true,
    detect: None,
};
