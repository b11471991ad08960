// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

/// What helps with every membarrier that is private by its command.
pub(super) const PROGRAM_OF_THEIR_OWN: RuleFix = RuleFix {
    action: Fix::Advice("run the threads that call membarrier in a separate process"),
    effect: "Only CPUs that run a thread of the same process are interrupted.",
    versions: Versions::ALL,
};

pub(super) static RULE: Rule = Rule {
    id: "function-call:ipi_mb",
    title: "membarrier(): memory-barrier IPI",
    explanation: "membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) interrupts every CPU that runs a thread of \
        the caller's process; garbage collectors, JIT compilers and user-space RCU libraries use it. \
        MEMBARRIER_CMD_GLOBAL_EXPEDITED runs the same function, on the CPUs of all processes that \
        registered for it: then the caller may be any other process. The chain names the sender, where the \
        kernel reports it.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("use memory fences on both sides instead"),
            effect: "No interrupt; each reader pays for its fences.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice(
                "where the caller is a thread of the same process: run the threads that call membarrier in \
                a separate process",
            ),
            effect: "A private membarrier interrupts only CPUs that run the caller's process.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice(
                "where the caller is another process: do not register for it \
                (MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) in the process that must not be interrupted",
            ),
            effect: "A global membarrier skips processes that have not registered; those that use it \
                together with others need the registration, however.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/membarrier.c: membarrier_private_expedited, membarrier_global_expedited",
    names_origin: true,
};
