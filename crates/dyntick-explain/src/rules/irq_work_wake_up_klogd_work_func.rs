// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "irq-work:wake_up_klogd_work_func",
    title: "printk on this CPU: deferred wake-up of log readers",
    explanation: "Code that ran on this CPU called printk. Readers of the kernel log (journald, dmesg -w) \
        are woken by an IPI that the CPU sends itself, or in its next tick if the tick runs.",
    fixes: &[RuleFix {
        action: Fix::Advice("fix the source of the messages; dmesg shows them"),
        effect: "No message, no interrupt. Call dmesg once, not with --follow: a waiting reader is one more \
            to wake.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/printk/printk.c: __wake_up_klogd, wake_up_klogd_work_func; kernel/irq_work.c: __irq_work_queue_local",
    names_origin: true,
};
