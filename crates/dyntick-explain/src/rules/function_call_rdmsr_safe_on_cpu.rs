// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:__rdmsr_safe_on_cpu",
    title: "Remote MSR read through /dev/cpu/N/msr",
    explanation: "Model-specific registers (MSRs) can be read only by the CPU itself. rdmsr and monitoring \
        agents read them from any CPU through /dev/cpu/N/msr. turbostat mostly moves itself onto each CPU \
        before it reads: it is reported as other-task:turbostat, with the migration thread, and not as this \
        call.",
    fixes: &[super::function_call_rdmsr_on_cpu::STOP_READERS],
    versions: Versions::ALL,
    source: "arch/x86/lib/msr-smp.c: rdmsr_safe_on_cpu; arch/x86/kernel/msr.c: msr_read",
    names_origin: true,
};
