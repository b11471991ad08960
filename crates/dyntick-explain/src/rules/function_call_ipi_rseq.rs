// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:ipi_rseq",
    title: "membarrier(): rseq restart IPI from a thread of the same process",
    explanation: "membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) interrupts the CPUs that run a thread \
        of the process, or the one CPU given in the call, so that a restartable sequence (rseq) is \
        restarted. Allocators with per-CPU caches use it, for example to take memory back from another \
        CPU's cache.",
    fixes: &[super::function_call_ipi_mb::PROGRAM_OF_THEIR_OWN],
    versions: Versions::ALL,
    source: "kernel/sched/membarrier.c: membarrier_private_expedited, ipi_rseq",
    names_origin: true,
};
