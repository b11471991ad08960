// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Arrival, Case, Finding};
use crate::{Arrived, CauseId, Class, Kind, Step, Unseen};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-sched",
    title: "Tick dependency SCHED: usually more than one runnable task",
    explanation: "A nohz_full CPU stops its tick as long as the scheduler does not need it: with a single \
        normal or SCHED_RR task, or SCHED_FIFO tasks, however many, because these have no time slices. While \
        two or more tasks share the CPU, the tick ends their time slices.",
    fixes: &[
        RuleFix::command("taskset -pc {housekeeping} {task}", "Moves the other task off the CPU."),
        RuleFix::boot("isolcpus=domain,{quiet}", "Only tasks that are pinned to the CPU run there."),
        RuleFix::advice(
            "put the CPU into an isolated cpuset partition (cpuset.cpus.partition=isolated)",
            "The same at run time, with cgroup v2.",
        ),
    ],
    source: "kernel/sched/core.c: sched_can_stop_tick",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    Finding::new(CauseId::of(&RULE), chain(case)?)
}

/// The chain that leads to a tick that the scheduler needs.
pub(super) fn chain(case: &Case<'_>) -> Option<Vec<Step>> {
    // The cause of an interrupt that brings a task is that task; one without only keeps the tick.
    let keeps = *case.kind == Kind::Tick || case.arrival().is_none();
    let applies = case.dependency() == Some(TickDependency::Sched) && keeps;
    let competitors = match case.facts.kept.as_ref().filter(|_| applies)?.others.as_slice() {
        [] => Arrived::Unseen(unseen(case)),
        others => Arrived::Tasks(others.iter().map(|other| other.task.clone()).collect()),
    };
    let (cpu, mut chain) = (case.cpu(), Vec::new());
    if let Some(Arrival::UserTask(newcomer)) = case.arrival().filter(|_| !case.idle()) {
        let task = &newcomer.task;
        let by = newcomer.woken_by.as_ref().filter(|by| by.task != *task);
        chain.extend(by.map(|by| Step::MadeRunnable { by: by.into(), task: task.clone(), cpu }));
    }
    if !case.context.isolated.contains(cpu) && !case.context.known.isolation_unknown {
        chain.push(Step::LoadBalanced { cpu });
    }
    chain.push(case.effect(competitors));
    Some(chain)
}

/// The possible reasons for the tick if no second task was seen.
fn unseen(case: &Case<'_>) -> Unseen {
    Unseen {
        unrecorded: !case.shows_competitors(),
        quota: case.context.at_least(6, 6),
        deadline: case.class().is_none(),
        sched_ext: case.class() != Some(Class::RealTime) && case.context.at_least(6, 12),
    }
}
