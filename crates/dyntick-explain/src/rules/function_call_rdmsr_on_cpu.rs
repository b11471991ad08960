// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

/// What helps with every reader of registers.
pub(super) const STOP_READERS: RuleFix = RuleFix {
    action: Fix::Advice(
        "stop monitoring tools while the CPU must be quiet, or exclude the CPU from \
        monitoring",
    ),
    effect: "One interrupt per read.",
    versions: Versions::ALL,
};

pub(super) static RULE: Rule = Rule {
    id: "function-call:__rdmsr_on_cpu",
    title: "Remote MSR read by the kernel",
    explanation: "Model-specific registers (MSRs) can be read only by the CPU itself. Drivers of the kernel \
        (frequency, power and temperature) read them when their files in /sys are read.",
    fixes: &[STOP_READERS],
    versions: Versions::ALL,
    source: "arch/x86/lib/msr-smp.c: rdmsr_on_cpu",
    names_origin: true,
};
