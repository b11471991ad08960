// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:do_flush_tlb_all",
    title: "Full TLB flush on all CPUs",
    explanation: "Every CPU has to flush its TLB when the kernel takes back or changes much of its own address space: when \
        it purges vmalloc areas that were freed (modules, BPF programs, stacks of tasks that ended, large buffers), \
        changes the attributes of many pages, changes the pool of huge pages (vm.nr_hugepages), or plugs memory.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("record with --stacks, which shows how the sender came to it"),
            effect: "Several parts of the kernel have this function called, and the sender's stack shows which one did.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice(
                "load and unload modules and BPF programs, and set vm.nr_hugepages, before the quiet phase",
            ),
            effect: "No kernel mapping is removed.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/mm/tlb.c: flush_tlb_all",
    names_origin: true,
};
