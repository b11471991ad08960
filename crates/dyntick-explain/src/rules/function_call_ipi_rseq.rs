// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:ipi_rseq",
    title: "Another thread of the same program had restartable sequences restarted",
    explanation: "membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) interrupts the CPUs that run a thread of the \
        program, or the one CPU that it names, so that a restartable sequence begins again. Allocators with caches \
        per CPU use it, as when they take memory back from another CPU's cache.",
    fixes: &[super::function_call_ipi_mb::PROGRAM_OF_THEIR_OWN],
    versions: Versions::ALL,
    source: "kernel/sched/membarrier.c: membarrier_private_expedited, ipi_rseq",
    names_origin: true,
    detect: None,
};
