// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:tlb_remove_table_smp_sync",
    title: "IPI to all CPUs before freeing page tables",
    explanation: "On another CPU, pages were collapsed into huge pages or a process unmapped memory. Before \
        a page table is freed, every CPU is interrupted once, so that none still walks it.",
    fixes: &[
        RuleFix {
            action: Fix::Command("echo never > /sys/kernel/mm/transparent_hugepage/enabled"),
            effect: "No transparent huge pages, not even where a program asks for them.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("map memory once and keep it"),
            effect: "No page tables are freed.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "mm/mmu_gather.c: tlb_remove_table_sync_one, tlb_remove_table_smp_sync",
    names_origin: true,
};
