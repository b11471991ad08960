// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};

pub(super) static RULE: Rule = Rule {
    id: "ipi",
    title: "IPI from another CPU",
    explanation: "No task was seen to be woken by the interrupt, and no called function was reported, but \
        the kernel function that sent it is known.",
    fixes: &[Fix {
        setting: Setting::Program(
            "look at the function that sent it, and at the task that ran on the sending CPU",
        ),
        effect: "The chain names both.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/smp.c: send_call_function_single_ipi; kernel/sched/core.c: resched_curr",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let send = case.facts.senders.last()?;
    let place = send.origin.function.as_ref().unwrap_or(&send.callsite);
    let chain = case.sent_by().into_iter().chain([format!("{} was interrupted", case.cpu())]);
    Finding::new(CauseId::member("ipi", place), chain)
}
