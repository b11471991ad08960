// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:do_flush_tlb_all",
    title: "Full kernel TLB flush on all CPUs (vmalloc, modules, BPF)",
    explanation: "When the kernel unmaps a large range of its own address space (vmalloc, module unloading, \
        BPF programs), every CPU has to flush its TLB.",
    fixes: &[RuleFix {
        action: Fix::Advice("load and unload modules and BPF programs before the quiet phase"),
        effect: "No kernel mapping is removed.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "arch/x86/mm/tlb.c: flush_tlb_all",
    names_origin: true,
};
