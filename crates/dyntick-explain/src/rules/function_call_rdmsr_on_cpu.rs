// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:__rdmsr_on_cpu",
    title: "Somebody read a register of this CPU",
    explanation: "Model-specific registers are read by the CPU itself. turbostat, monitoring agents and \
        power managers read many of them, by way of /dev/cpu or drivers.",
    fixes: &[Fix {
        setting: Setting::Program("stop them while the CPU must be quiet, or have them leave it out"),
        effect: "One interrupt a read.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "arch/x86/lib/msr-smp.c: rdmsr_on_cpu",
    names_origin: true,
    detect: None,
};
