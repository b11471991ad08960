// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:flush_tlb_func",
    title: "Another thread of the same program changed its memory map",
    explanation: "munmap, mprotect, madvise, page migration or swapping by one thread must drop the old \
        translations on every CPU that runs the program.",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "do not map, unmap or protect memory while the quiet threads run (keep freed memory: \
                M_TRIM_THRESHOLD, M_MMAP_THRESHOLD)",
            ),
            effect: "No shootdown is needed.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Sysctl("kernel.numa_balancing=0"),
            effect: untried!("No unmapping to find out who uses a page."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Command("echo never > /sys/kernel/mm/transparent_hugepage/enabled"),
            effect: not_tried!("No merging of pages in the background."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("pin memory (mlockall)"),
            effect: "No swapping or reclaim of its pages.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/mm/tlb.c: flush_tlb_func",
    names_origin: true,
    detect: None,
};
