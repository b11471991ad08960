// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{CauseId, Class, Kind};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-sched",
    title: "Tick dependency SCHED: usually more than one runnable task",
    explanation: "A nohz_full CPU stops its tick as long as the scheduler does not need it: with a single \
        normal or SCHED_RR task, or SCHED_FIFO tasks, however many, because these have no time slices. \
        While two or more tasks share the CPU, the tick ends their time slices.",
    fixes: &[
        Fix {
            setting: Setting::Command("taskset -pc OTHER-CPUS PID"),
            effect: "Moves the other task away; the chain names it.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: "Only tasks that are pinned to the CPU run there.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "put the CPU into an isolated cpuset partition (cpuset.cpus.partition=isolated)",
            ),
            effect: "The same at run time, with cgroup v2.",
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
        chain.push(format!(
            "{} takes part in load balancing: it is not isolated (isolcpus=domain or a cpuset partition)",
            case.cpu()
        ));
    }
    chain.push(case.effect(&competitors));
    Finding::new(CauseId::class("dependency-sched"), chain)
}

/// What may need the tick where no second task was seen.
fn unseen(case: &Case<'_>) -> String {
    let alone = case.class().is_none();
    let possible = [
        ("a task from before the recording", true),
        ("the CPU quota of a cgroup", case.context.at_least(6, 6)),
        ("SCHED_DEADLINE, also for a single task", alone),
        (
            "a time slice of sched_ext, also for a single task",
            case.class() != Some(Class::RealTime) && case.context.at_least(6, 12),
        ),
    ];
    let possible: Vec<&str> =
        possible.iter().filter(|(_, applies)| *applies).map(|(what, _)| *what).collect();
    format!("something that no event shows ({})", possible.join("; "))
}
