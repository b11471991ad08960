// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "anonymous-irq-work",
    title: "irq_work (self-IPI), function unknown",
    explanation: "Code that may not do something in its current context (in an NMI, or with locks held) \
        queues an irq_work, and the CPU sends itself an IPI to run it; perf, printk, RCU and BPF use it. \
        Kernels before 6.5 have no event that names the function, and kprobes name only the most frequent \
        ones.",
    fixes: &[RuleFix::advice(
        "boot kernel 6.5 or newer, whose events name the function and what queued it",
        "The cause is then named.",
    )
    .on(Versions::before(6, 5))],
    source: "kernel/irq_work.c: irq_work_queue",
    names_origin: false,
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if *case.kind != Kind::IrqWork {
        return None;
    }
    Finding::new(CauseId::of(&RULE), [Step::RanSomeIrqWork { cpu: case.cpu() }])
}
