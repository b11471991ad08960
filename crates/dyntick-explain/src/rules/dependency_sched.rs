// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{CauseId, Kind};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-sched",
    title: "A second task wanted the CPU, so the tick had to share it out",
    explanation: "An adaptive CPU does without its tick only as long as at most one task is runnable on it \
        (the scheduler's dependency). While two or more take turns, the tick ends their slices.",
    fixes: &[
        Fix {
            setting: Setting::Command("taskset -pc OTHER-CPUS PID"),
            effect: "Moves the other task away; the chain names it.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: "Tasks come to the CPU only if they are pinned there.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "give the CPU a cpuset partition of its own (cpuset.cpus.partition=isolated)",
            ),
            effect: "The same, at run time, with cgroup v2.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: sched_can_stop_tick",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    // An interrupt that brings a task has that task for its cause, and one without only keeps the tick.
    let keeps = *case.kind == Kind::Tick || case.arrival().is_none();
    let applies = case.dependency() == Some(TickDependency::Sched) && keeps;
    let competitors = match case.facts.kept.as_ref().filter(|_| applies)?.others.as_slice() {
        [] => "something that no event shows (a task from before, or the CPU quota of a cgroup)".to_owned(),
        others => others.iter().map(|other| other.task.to_string()).collect::<Vec<_>>().join(", "),
    };
    let mut chain = Vec::new();
    if let Some(Arrival::UserTask(newcomer)) = case.arrival().filter(|_| !case.idle()) {
        let by = newcomer.woken_by.as_ref().filter(|by| by.task != newcomer.task);
        chain.extend(by.map(|by| format!("{by} made {} runnable on {}", newcomer.task, case.cpu())));
    }
    if !case.context.isolated.contains(case.facts.cpu) {
        chain.push(format!("{} takes part in load balancing: it is in no isolated domain", case.cpu()));
    }
    chain.push(case.effect(&competitors));
    Finding::new(CauseId::class("dependency-sched"), chain)
}
