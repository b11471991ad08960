// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:__rdmsr_safe_on_cpu",
    title: "A program read a register of this CPU",
    explanation: "Model-specific registers are read by the CPU itself. rdmsr and monitoring agents read them from \
        wherever they run, by way of /dev/cpu/N/msr. turbostat mostly moves itself onto each CPU before it reads: \
        it comes as other-task:turbostat, with the migration thread, and not as this call.",
    fixes: &[super::function_call_rdmsr_on_cpu::STOP_READERS],
    versions: Versions::ALL,
    source: "arch/x86/lib/msr-smp.c: rdmsr_safe_on_cpu; arch/x86/kernel/msr.c: msr_read",
    names_origin: true,
    detect: None,
};
