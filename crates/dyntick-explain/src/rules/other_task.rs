// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{Arrived, CauseId};

pub(super) static RULE: Rule = Rule {
    id: "other-task",
    title: "Another task ran on the CPU",
    explanation: "More than one task is runnable on the CPU, and the scheduler ran the other one for a time \
        slice.",
    fixes: &[
        RuleFix {
            action: Fix::Command("taskset -pc {housekeeping} {task}"),
            effect: "Moves the other task away; the chain names it.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("isolcpus=domain,{quiet}"),
            effect: not_tried!("Only tasks that are pinned to the CPU run there."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: __schedule",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let task = case.facts.turn()?;
    Finding::new(CauseId::member(&RULE, task.comm.clone()), [case.effect(Arrived::task(task))])
}
