// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:ipi_sync_core",
    title: "membarrier(): sync-core IPI from a thread of the same process",
    explanation: "membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) interrupts every CPU that runs a \
        thread of the process, so that none executes old instructions. JIT compilers and debuggers use it.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("compile code before the quiet phase (a warm-up of the JIT compiler)"),
            effect: "No code changes, no call.",
            versions: Versions::ALL,
        },
        super::function_call_ipi_mb::PROGRAM_OF_THEIR_OWN,
    ],
    versions: Versions::ALL,
    source: "kernel/sched/membarrier.c: membarrier_private_expedited",
    names_origin: true,
};
