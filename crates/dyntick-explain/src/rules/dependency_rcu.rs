// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-rcu",
    title: "Tick dependency RCU: a grace period waited for this CPU, or callbacks ran on it",
    explanation: "RCU frees memory once every CPU has passed a quiescent state. The tick of a CPU that \
        stays in the kernel for long is turned on so that the CPU reports one, and a task that runs \
        callbacks keeps the tick meanwhile. nohz_full offloads the callbacks of its CPUs to threads (all \
        kernels from 6.1).",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "spend less time in the kernel on this CPU at a time (long system calls, close of many \
                files, munmap of much memory)",
            ),
            effect: "A CPU in user mode counts as quiescent and is not asked.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("rcutree.nohz_full_patience_delay=1000"),
            effect: not_tried!("Grace periods wait up to this many ms before they disturb a nohz_full CPU."),
            versions: Versions::since(6, 12),
        },
        Fix {
            setting: Setting::Command("taskset -pc HOUSEKEEPING-CPUS PID-OF-RCUO-THREAD"),
            effect: not_tried!(
                "The threads that run offloaded callbacks (rcuog, rcuop) must stay off the CPU."
            ),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/rcu/tree.c: __rcu_irq_enter_check_tick, rcu_do_batch",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let applies = case.dependency() == Some(TickDependency::Rcu) && !case.idle();
    let chain = [format!(
        "RCU needs {} to pass a quiescent state, or runs callbacks in it; the tick of {} is kept for that",
        case.kept_by(),
        case.cpu()
    )];
    applies.then(|| Finding::new(CauseId::class("dependency-rcu"), chain)).flatten()
}
