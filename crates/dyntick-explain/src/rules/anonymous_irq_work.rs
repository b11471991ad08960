// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "anonymous-irq-work",
    title: "The CPU interrupted itself to finish something",
    explanation: "Code that may not do a thing where it is (in an NMI, or with locks held) queues it to an \
        interrupt of its own; perf, printk, RCU and BPF do. Kernels before 6.5 have no event that names the \
        function, and probes name the most frequent ones only.",
    fixes: &[Fix {
        setting: Setting::Program(
            "boot a kernel from 6.5 on, whose events name the function and who queued it",
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
    let chain = [format!("{} ran work that was queued for interrupt context", case.cpu())];
    (*case.kind == Kind::IrqWork).then(|| Finding::new(CauseId::class("anonymous-irq-work"), chain)).flatten()
}
