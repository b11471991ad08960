// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:do_kernel_range_flush",
    title: "Kernel TLB range flush on all CPUs",
    explanation: "When the kernel changes its own mappings, every CPU has to flush that range from its TLB: vmalloc areas \
        that were freed (modules, BPF programs, stacks of tasks that ended, large buffers), attributes of pages, the \
        memory map of huge pages.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("record with --stacks, which shows how the sender came to it"),
            effect: "Several parts of the kernel have this function called, and the sender's stack shows which one did.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("load and unload modules and BPF programs before the quiet phase"),
            effect: "No kernel mapping changes.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/mm/tlb.c: flush_tlb_kernel_range",
    names_origin: true,
};
