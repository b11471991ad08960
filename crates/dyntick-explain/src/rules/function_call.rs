// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Case, Finding, sent_by};
use crate::facts::{Call, Place, Send};
use crate::{CauseId, Step, Task};
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
    let send = call.by.as_ref().or(case.facts.senders.last());
    let sent = send.map(sent_by);
    let foreign = send.filter(|_| &*function == FLUSH_TLB).and_then(|send| of_another_process(case, send));
    let ran = Step::CalledFunction { function: function.clone(), cpu: case.cpu() };
    Finding::new(CauseId::member(&RULE, function), sent.into_iter().chain(foreign).chain([ran]))
}

/// What flushes translations of the memory of one process.
const FLUSH_TLB: &str = "flush_tlb_func";

/// That a task of another process than the interrupted one sent it; none where that is not known of both.
fn of_another_process(case: &Case<'_>, send: &Send) -> Option<Step> {
    let (sender, victim) = (&send.origin.task, &case.facts.victim);
    let process = |task: &Task| case.context.known.processes.get(&task.pid).copied();
    let (of_sender, of_victim) = (process(sender)?, process(victim)?);
    let is_foreign = send.origin.place == Place::Task && victim.pid != 0 && of_sender != of_victim;
    is_foreign.then(|| Step::OfAnotherProcess { sender: sender.clone(), victim: victim.clone() })
}
