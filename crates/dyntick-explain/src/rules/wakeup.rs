// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "wakeup",
    title: "Task woken on this CPU",
    explanation: "A waker, on another CPU or in an interrupt, made a task runnable on this CPU and \
        interrupted it to reschedule. On an idle CPU this is how its own work starts.",
    fixes: &[
        Fix {
            setting: Setting::Command("taskset -pc OTHER-CPUS PID"),
            effect: "Moves the woken task away, if it does not belong on this CPU; the chain names it.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: not_tried!("Only tasks that are pinned to the CPU run there."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: try_to_wake_up",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    if !matches!(case.kind, Kind::Reschedule | Kind::FunctionCall | Kind::IrqWork) {
        return None;
    }
    let Some(Arrival::UserTask(newcomer)) = case.arrival() else { return None };
    let sender = case.facts.senders.last().map(|send| &send.origin);
    let made = sender
        .or(newcomer.woken_by.as_ref())
        .map(|by| format!("{by} made {} runnable on {}", newcomer.task, case.cpu()));
    let effect = case.effect(&newcomer.task.to_string());
    Finding::new(CauseId::member("wakeup", &newcomer.task.comm), made.into_iter().chain([effect]))
}
