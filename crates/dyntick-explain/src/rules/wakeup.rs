// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Arrival, Case, Finding};
use crate::facts::Newcomer;
use crate::{Arrived, CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "wakeup",
    title: "Task woken on this CPU",
    explanation: "A waker, on another CPU or in an interrupt, made a task runnable on this CPU and \
        interrupted it to reschedule. On an idle CPU this is how its own work starts.",
    fixes: &[
        RuleFix::command(
            "taskset -pc {housekeeping} {task}",
            "Moves the woken task away, if it does not belong on this CPU; the chain names it.",
        ),
        RuleFix::boot(
            "isolcpus=domain,{quiet}",
            not_tried!("Only tasks that are pinned to the CPU run there."),
        ),
    ],
    source: "kernel/sched/core.c: try_to_wake_up",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let Some(Arrival::UserTask(newcomer)) = case.arrival() else { return None };
    Finding::new(CauseId::member(&RULE, newcomer.task.comm.clone()), chain(case)?)
}

/// The chain that leads to a user task that was woken here.
pub(super) fn chain(case: &Case<'_>) -> Option<Vec<Step>> {
    if !matches!(case.kind, Kind::Reschedule | Kind::FunctionCall | Kind::IrqWork) {
        return None;
    }
    let Some(Arrival::UserTask(Newcomer { task, woken_by })) = case.arrival() else { return None };
    let sender = case.facts.senders.last().map(|send| &send.origin);
    let made = sender.or(woken_by.as_ref()).map(|by| Step::MadeRunnable {
        by: by.into(),
        task: task.clone(),
        cpu: case.cpu(),
    });
    Some(made.into_iter().chain([case.effect(Arrived::task(task))]).collect())
}
