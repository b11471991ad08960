// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};

pub(super) static RULE: Rule = Rule {
    id: "other-task",
    title: "Another task ran on the CPU",
    explanation: "More than one task is runnable on the CPU, and the scheduler ran the other one for a time \
        slice.",
    fixes: &[
        Fix {
            setting: Setting::Command("taskset -pc OTHER-CPUS PID"),
            effect: "Moves the other task away; the chain names it.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: not_tried!("Only tasks that are pinned to the CPU run there."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: __schedule",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let task = case.facts.turn()?;
    let chain = [case.effect(&task.to_string())];
    Finding::new(CauseId::member("other-task", &task.comm), chain)
}
