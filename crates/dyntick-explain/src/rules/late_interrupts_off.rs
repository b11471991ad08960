// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-interrupts-off",
    title: "Timer interrupt delayed while a task ran (interrupts off, SMI, hypervisor)",
    explanation: "No event shows the reason: the task had interrupts disabled in the kernel, or firmware \
        (SMI) or a hypervisor took the CPU from the kernel.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("this is a virtual machine: see steal first, with dyntick stat -C {cpu}"),
            effect: "Steal is the time in which the hypervisor did not run this virtual CPU; no event of its \
                kernel shows it.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("trace it with trace-cmd record -p irqsoff sleep 10"),
            effect: "Names the kernel function that disables interrupts for longest \
                (CONFIG_IRQSOFF_TRACER).",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("measure again with --smi"),
            effect: "Counts system management interrupts.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: hrtimer_interrupt",
    names_origin: false,
};
