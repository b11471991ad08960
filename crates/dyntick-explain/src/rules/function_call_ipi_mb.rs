// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

/// What helps with every private membarrier.
pub(super) const PROGRAM_OF_THEIR_OWN: Fix = Fix {
    setting: Setting::Program("run the threads that call membarrier in a program of their own"),
    effect: "Only CPUs that run the same program are interrupted.",
    versions: Versions::ALL,
};

pub(super) static RULE: Rule = Rule {
    id: "function-call:ipi_mb",
    title: "Another thread of the same program called membarrier",
    explanation: "membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) interrupts every CPU that runs a thread of the \
        program. Garbage collectors, JIT compilers and user-space RCU libraries use it.",
    fixes: &[
        Fix {
            setting: Setting::Program("use memory fences on both sides instead"),
            effect: "No interrupt; each reader pays for its fences.",
            versions: Versions::ALL,
        },
        PROGRAM_OF_THEIR_OWN,
    ],
    versions: Versions::ALL,
    source: "kernel/sched/membarrier.c: membarrier_private_expedited",
    names_origin: true,
    detect: None,
};
