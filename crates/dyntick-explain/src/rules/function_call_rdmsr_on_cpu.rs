// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

/// What helps with every reader of registers.
pub(super) const STOP_READERS: Fix = Fix {
    setting: Setting::Program("stop monitors while the CPU must be quiet, or have them leave it out"),
    effect: "One interrupt a read.",
    versions: Versions::ALL,
};

pub(super) static RULE: Rule = Rule {
    id: "function-call:__rdmsr_on_cpu",
    title: "Somebody read a register of this CPU",
    explanation: "Model-specific registers are read by the CPU itself. Drivers of the kernel (frequency, \
        power and temperature) do it when their files in /sys are read.",
    fixes: &[STOP_READERS],
    versions: Versions::ALL,
    source: "arch/x86/lib/msr-smp.c: rdmsr_on_cpu",
    names_origin: true,
    detect: None,
};
