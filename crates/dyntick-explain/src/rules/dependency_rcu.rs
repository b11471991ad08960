// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Step};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-rcu",
    title: "Tick dependency RCU: a grace period waited for this CPU, or callbacks ran on it",
    explanation: "RCU frees memory once every CPU has passed a quiescent state. The tick of a CPU that stays \
        in the kernel for long is turned on so that the CPU reports one, and a task that runs callbacks \
        keeps the tick meanwhile. nohz_full offloads the callbacks of its CPUs to threads (all kernels from \
        6.1).",
    fixes: &[
        RuleFix::advice(
            "spend less time in the kernel on this CPU at a time (long system calls, close of many files, \
                munmap of much memory)",
            "A CPU in user mode counts as quiescent and is not asked.",
        ),
        RuleFix::boot(
            "rcutree.nohz_full_patience_delay=1000",
            not_tried!("Grace periods wait up to this many ms before they disturb a nohz_full CPU."),
        )
        .on(Versions::since(6, 12)),
        RuleFix::command(
            "for p in $(pgrep rcuo); do taskset -pc {housekeeping} $p; done",
            not_tried!("The threads that run offloaded callbacks (rcuog, rcuop) must stay off the CPU."),
        ),
    ],
    source: "kernel/rcu/tree.c: __rcu_irq_enter_check_tick, rcu_do_batch",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if case.dependency() != Some(TickDependency::Rcu) || case.idle() {
        return None;
    }
    Finding::new(CauseId::of(&RULE), [Step::KeptForRcu { task: case.kept_by().clone(), cpu: case.cpu() }])
}
