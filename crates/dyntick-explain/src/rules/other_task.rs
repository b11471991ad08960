// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{Arrived, CauseId};

pub(super) static RULE: Rule = Rule {
    id: "other-task",
    title: "Another task ran on the CPU",
    explanation: "Two tasks wanted the CPU, and the scheduler ran the other one for a time slice.",
    fixes: &[
        RuleFix::command("taskset -pc {housekeeping} {task}", "Moves the other task off the CPU."),
        RuleFix::boot(
            "isolcpus=domain,{quiet}",
            not_tried!("Only tasks that are pinned to the CPU run there."),
        ),
    ],
    source: "kernel/sched/core.c: __schedule",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let task = case.facts.turn()?;
    Finding::new(
        CauseId::member(&RULE, case.context.program(task).clone()),
        [case.effect(Arrived::task(task))],
    )
}
