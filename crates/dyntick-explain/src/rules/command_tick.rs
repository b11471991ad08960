// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, dependency_sched};
use crate::CauseId;
use crate::case::{Case, Finding};

pub(super) static RULE: Rule = Rule {
    id: "command-tick",
    title: "Tick dependency SCHED: tasks of the command itself share the CPU",
    explanation: "A nohz_full CPU stops its tick while a single task is runnable on it. Here two or more \
        threads or processes of the command were, and the tick ends their time slices.",
    fixes: &[RuleFix::advice(
        "give each busy thread of the command a CPU of its own (pthread_setaffinity_np(3), taskset), or have \
            it start fewer threads",
        "With a single runnable task the CPU stops its tick.",
    )],
    source: "kernel/sched/core.c: sched_can_stop_tick",
    ..Rule::DEFAULT
};

/// Detects a tick that is kept for tasks of the command, while one of them runs.
pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    case.commands_arrival().filter(|_| case.beside_command().is_none())?;
    Finding::new(CauseId::of(&RULE), dependency_sched::chain(case)?)
}
