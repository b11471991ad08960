// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:do_kernel_range_flush",
    title: "Kernel TLB range flush on all CPUs (vmalloc, modules, BPF)",
    explanation: "When the kernel changes its own mappings (vmalloc, modules, BPF programs), every CPU has \
        to flush that range from its TLB.",
    fixes: &[RuleFix {
        action: Fix::Advice("load and unload modules and BPF programs before the quiet phase"),
        effect: "No kernel mapping changes.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "arch/x86/mm/tlb.c: flush_tlb_kernel_range",
    names_origin: true,
};
