// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Case, Finding, sent_by};
use crate::facts::Call;
use crate::{CauseId, Step};
use dyntick_model::Role;

pub(super) static RULE: Rule = Rule {
    id: "function-call",
    title: "Function-call IPI from another CPU",
    explanation: "Some changes must be made by every CPU itself, so the kernel interrupts them \
        (smp_call_function). The function that ran shows which change it was.",
    fixes: &[RuleFix {
        action: Fix::Advice("find out which task on the sending CPU asked for it"),
        effect: "The chain names the sender's task and the kernel function.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/smp.c: __flush_smp_call_function_queue",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let wakes = |call: &&Call| Role::of(&call.function) == Some(Role::QueuedWakeups);
    let call = case.facts.called.iter().find(|call| !wakes(call))?;
    let function = call.function.clone();
    let sent = call.by.as_ref().or(case.facts.senders.last()).map(sent_by);
    let ran = Step::CalledFunction { function: function.clone(), cpu: case.cpu() };
    Finding::new(CauseId::member(&RULE, function), sent.into_iter().chain([ran]))
}
