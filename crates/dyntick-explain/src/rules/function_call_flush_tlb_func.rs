// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:flush_tlb_func",
    title: "TLB shootdown: another thread of the process changed the address space",
    explanation: "munmap, mprotect, madvise, page migration or swapping by one thread must flush the old \
        translations on every CPU that runs a thread of the process.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "do not map, unmap or protect memory while the quiet threads run (keep freed memory: \
                M_TRIM_THRESHOLD, M_MMAP_THRESHOLD)",
            ),
            effect: "No shootdown is needed.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("sysctl -w kernel.numa_balancing=0"),
            effect: untried!("Pages are no longer unmapped to sample which node uses them."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("echo never > /sys/kernel/mm/transparent_hugepage/enabled"),
            effect: not_tried!("No merging of pages in the background."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("pin memory (mlockall)"),
            effect: "No swapping or reclaim of its pages.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/mm/tlb.c: flush_tlb_func",
    names_origin: true,
};
