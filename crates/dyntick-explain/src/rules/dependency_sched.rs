// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{CauseId, Class, Kind};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-sched",
    title: "The scheduler needed the tick, mostly to share the CPU out among tasks",
    explanation: "An adaptive CPU does without its tick as long as the scheduler has nothing to share out: a \
        single ordinary or SCHED_RR task, or SCHED_FIFO tasks, however many, for these take no turns. While two \
        or more take turns, the tick ends their slices.",
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
        [] => unseen(case),
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

/// What may need the tick where no second task was seen.
fn unseen(case: &Case<'_>) -> String {
    let alone = case.class().is_none();
    let possible = [
        ("a task from before", true),
        ("the CPU quota of a cgroup", case.context.at_least(6, 6)),
        ("SCHED_DEADLINE, also for a single task", alone),
        (
            "a slice of sched_ext, also for a single task",
            case.class() != Some(Class::RealTime) && case.context.at_least(6, 12),
        ),
    ];
    let possible: Vec<&str> =
        possible.iter().filter(|(_, applies)| *applies).map(|(what, _)| *what).collect();
    format!("something that no event shows ({})", possible.join("; "))
}
