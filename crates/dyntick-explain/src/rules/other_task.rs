// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};

pub(super) static RULE: Rule = Rule {
    id: "other-task",
    title: "Another task took the CPU for a while",
    explanation: "Two tasks are runnable on the CPU, and the scheduler gave the other one a turn.",
    fixes: &[
        Fix {
            setting: Setting::Command("taskset -pc OTHER-CPUS PID"),
            effect: "Moves the other task away; the chain names it.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: not_tried!("Tasks come to the CPU only if they are pinned there."),
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
