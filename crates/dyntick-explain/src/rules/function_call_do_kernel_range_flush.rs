// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:do_kernel_range_flush",
    title: "The kernel gave back or protected memory of its own",
    explanation: "When the kernel changes its own mappings (vmalloc, modules, BPF programs) every CPU has \
        to forget the translations of that range.",
    fixes: &[Fix {
        setting: Setting::Program("load and unload modules and BPF programs before the quiet phase"),
        effect: "No kernel mapping changes.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "arch/x86/mm/tlb.c: flush_tlb_kernel_range",
    names_origin: true,
    detect: None,
};
