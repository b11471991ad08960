// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "anonymous-irq-work",
    title: "irq_work (self-IPI), function unknown",
    explanation: "Code that may not do something in its current context (in an NMI, or with locks held) \
        queues an irq_work, and the CPU sends itself an IPI to run it; perf, printk, RCU and BPF use it. \
        Kernels before 6.5 have no event that names the function, and kprobes name only the most frequent \
        ones.",
    fixes: &[Fix {
        setting: Setting::Program(
            "boot kernel 6.5 or newer, whose events name the function and what queued it",
        ),
        effect: "The cause is then named.",
        versions: Versions::before(6, 5),
    }],
    versions: Versions::ALL,
    source: "kernel/irq_work.c: irq_work_queue",
    names_origin: false,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let chain = [format!("{} ran an irq_work", case.cpu())];
    (*case.kind == Kind::IrqWork).then(|| Finding::new(CauseId::class("anonymous-irq-work"), chain)).flatten()
}
