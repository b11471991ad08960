// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{Arrived, CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "command-task",
    title: "Tasks of the command itself shared the CPU",
    explanation: "The command has more than one thread or process that is runnable on this CPU, and the \
        scheduler ran them in turn. This is the command's own work, and nothing from outside interrupted it.",
    fixes: &[RuleFix::advice(
        "give each busy thread of the command a CPU of its own (pthread_setaffinity_np(3), taskset), or have \
            it start fewer threads",
        "None of its threads waits for another one's time slice.",
    )],
    source: "kernel/sched/core.c: __schedule",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let task = case.facts.turn().filter(|_| *case.kind == Kind::CommandTask)?;
    Finding::new(CauseId::member(&RULE, task.comm.clone()), [case.effect(Arrived::task(task))])
}
