// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:do_flush_tlb_all",
    title: "The kernel gave back memory of its own",
    explanation: "When the kernel gives back much address space of its own (vmalloc, module unloading, BPF \
        programs) every CPU has to forget its translations.",
    fixes: &[Fix {
        setting: Setting::Program("load and unload modules and BPF programs before the quiet phase"),
        effect: "No kernel mapping is given back.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "arch/x86/mm/tlb.c: flush_tlb_all",
    names_origin: true,
    detect: None,
};
