// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};
use dyntick_model::Symbol;

pub(super) static RULE: Rule = Rule {
    id: "function-call",
    title: "Another CPU had this one run a function",
    explanation: "Some changes must be made by every CPU itself, so the kernel interrupts them. The function \
        that ran tells which change it was.",
    fixes: &[Fix {
        setting: Setting::Program("find out on the sending CPU who asked for it"),
        effect: "The chain names the sender's task and the place in the kernel.",
        versions: Versions::ALL,
    }],
    versions: Versions::since(6, 5),
    source: "kernel/smp.c: __flush_smp_call_function_queue",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let wakes = |function: &Symbol| &**function == "sched_ttwu_pending";
    let function = case.facts.called.iter().find(|function| !wakes(function))?;
    let chain = case.sent_by().into_iter().chain([format!("{} ran {function}", case.cpu())]);
    Finding::new(CauseId::member("function-call", function), chain)
}
