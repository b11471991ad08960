// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Case, Finding, sent_by};
use crate::{CauseId, Step};

pub(super) static RULE: Rule = Rule {
    id: "ipi",
    title: "IPI from another CPU",
    explanation: "No task was seen to be woken by the interrupt, and no called function was reported, but \
        the kernel function that sent it is known.",
    fixes: &[RuleFix {
        action: Fix::Advice("look at the function that sent it, and at the task that ran on the sending CPU"),
        effect: "The chain names both.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/smp.c: send_call_function_single_ipi; kernel/sched/core.c: resched_curr",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let send = case.facts.senders.last()?;
    let place = send.origin.function.as_ref().unwrap_or(&send.callsite);
    let chain = [sent_by(send), Step::Interrupted { cpu: case.cpu() }];
    Finding::new(CauseId::member(&RULE, place.clone()), chain)
}
