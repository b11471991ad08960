// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "irq-work:wake_up_klogd_work_func",
    title: "The kernel printed a message on this CPU",
    explanation: "Code that ran here called printk. Who reads the kernel's messages (journald, dmesg -w) is woken \
        by an interrupt that the CPU sends itself, or in its next tick if it has one.",
    fixes: &[Fix {
        setting: Setting::Program("fix what prints the messages; dmesg shows them"),
        effect: "No message, no interrupt. Once, not with --follow: a reader that waits is one more to wake.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/printk/printk.c: __wake_up_klogd, wake_up_klogd_work_func; kernel/irq_work.c: __irq_work_queue_local",
    names_origin: true,
    detect: None,
};
