// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding, sent_by};
use crate::facts::Call;

pub(super) static RULE: Rule = Rule {
    id: "function-call",
    title: "Function-call IPI from another CPU",
    explanation: "Some changes must be made by every CPU itself, so the kernel interrupts them \
        (smp_call_function). The function that ran shows which change it was.",
    fixes: &[Fix {
        setting: Setting::Program("find out which task on the sending CPU asked for it"),
        effect: "The chain names the sender's task and the kernel function.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/smp.c: __flush_smp_call_function_queue",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let wakes = |call: &&Call| &*call.function != "sched_ttwu_pending";
    let call = case.facts.called.iter().find(wakes)?;
    let sent = call.by.as_ref().or(case.facts.senders.last()).map(sent_by);
    let chain = sent.into_iter().chain([format!("{} ran {}", case.cpu(), call.function)]);
    Finding::new(CauseId::member("function-call", &call.function), chain)
}
