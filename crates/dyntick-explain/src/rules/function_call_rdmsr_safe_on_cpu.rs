// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:__rdmsr_safe_on_cpu",
    title: "A program read a register of this CPU",
    explanation: "Model-specific registers are read by the CPU itself. turbostat, rdmsr and monitoring \
        agents read many of them, by way of /dev/cpu/N/msr.",
    fixes: &[super::function_call_rdmsr_on_cpu::STOP_READERS],
    versions: Versions::ALL,
    source: "arch/x86/lib/msr-smp.c: rdmsr_safe_on_cpu; arch/x86/kernel/msr.c: msr_read",
    names_origin: true,
    detect: None,
};
