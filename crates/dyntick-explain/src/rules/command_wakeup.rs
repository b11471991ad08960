// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, wakeup};
use crate::CauseId;
use crate::case::{Case, Finding};

pub(super) static RULE: Rule = Rule {
    id: "command-wakeup",
    title: "Task of the command itself woken on this CPU",
    explanation: "A task of the command became runnable on this CPU, and the CPU was interrupted to run it: \
        it was started, or what it waited for was there. That may be its own work, or a delay that ended: a \
        lock or a memory map that another task held, a tracer that had stopped it, a quota that was used up. \
        The chain names the waker.",
    fixes: &[
        RuleFix::advice(
            "if the waker has work for it: let the task poll for what it waits for, rather than sleep",
            "A task that does not sleep is not woken; it keeps its CPU busy meanwhile.",
        ),
        RuleFix::advice(
            "if the waker held a lock, traces the task or reads its memory: record with --stacks, which \
                shows what it did",
            "That program is then what has to be changed, or ended.",
        ),
    ],
    source: "kernel/sched/core.c: try_to_wake_up",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let newcomer = case.commands_arrival()?;
    Finding::new(CauseId::member(&RULE, newcomer.task.comm.clone()), wakeup::chain(case)?)
}
