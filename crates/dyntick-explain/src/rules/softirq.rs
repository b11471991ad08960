// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step, names};

pub(super) static RULE: Rule = Rule {
    id: "softirq",
    title: "Softirqs ran in the task's context",
    explanation: "Interrupt handlers leave part of their work to softirqs. Those that a system call raises, \
        or that were left pending, run in the context of the task when it enables softirqs (bottom halves) \
        again.",
    fixes: &[RuleFix {
        action: Fix::Advice("look at the system calls of the task, network sends above all"),
        effect: "The name of the softirq shows the subsystem.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/softirq.c: do_softirq",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let (softirq, who) = match (case.kind, case.facts.left_over, case.facts.turn()) {
        (Kind::Softirq { softirq }, ..) => (*softirq, &case.facts.victim),
        (Kind::KernelThread, Some(softirq), Some(thread)) if names::is_ksoftirqd(&thread.comm) => {
            (softirq, thread)
        }
        _ => return None,
    };
    let ran = Step::SoftirqRan { softirq, in_task: who.clone(), cpu: case.cpu() };
    Finding::new(CauseId::member(&RULE, softirq.kernel_name()), [ran])
}
