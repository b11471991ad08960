// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:ipi_sync_rq_state",
    title: "membarrier() registration: IPI to the CPUs of the process",
    explanation: "On registration each CPU that runs a thread of the process is interrupted once to update \
        the state in its runqueue.",
    fixes: &[RuleFix {
        action: Fix::Advice("register, or load the libraries that do, before the quiet phase"),
        effect: "It happens once per process.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/sched/membarrier.c: sync_runqueues_membarrier_state",
    names_origin: true,
};
