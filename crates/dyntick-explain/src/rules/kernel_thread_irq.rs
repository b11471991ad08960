// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:irq",
    title: "Threaded interrupt handler of a device",
    explanation: "An interrupt handler may run as a thread, always so with PREEMPT_RT or threadirqs. It \
        follows the affinity of its interrupt.",
    fixes: &[RuleFix {
        action: Fix::Command("echo {housekeeping} > /proc/irq/{irq}/smp_affinity_list"),
        effect: "Moves the interrupt and its thread.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/irq/manage.c: irq_thread",
    names_origin: true,
};
