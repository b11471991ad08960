// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::facts::Call;
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "irq-work",
    title: "irq_work (self-IPI for deferred work)",
    explanation: "Code that may not do something in its current context (in an NMI, or with locks held) \
        queues an irq_work, and the CPU sends itself an IPI to run it. The function shows what it was for.",
    fixes: &[RuleFix {
        action: Fix::Advice(
            "find out what queues the irq_work: the chain names the task and the kernel function",
        ),
        effect: "Without a queued irq_work there is no interrupt.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/irq_work.c: irq_work_queue, irq_work_run",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let kicked = *case.kind == Kind::FunctionCall && case.facts.is_kick();
    let applies = *case.kind == Kind::IrqWork || kicked;
    let Call { function, by } = case.facts.irq_works.first().filter(|_| applies)?;
    let queued = by.as_ref().map(|by| Step::QueuedIrqWork {
        by: (&by.origin).into(),
        function: function.clone(),
        callsite: by.callsite.clone(),
    });
    let ran = Step::RanIrqWork { function: function.clone(), cpu: case.cpu(), kicked };
    Finding::new(CauseId::member(&RULE, function.clone()), queued.into_iter().chain([ran]))
}
