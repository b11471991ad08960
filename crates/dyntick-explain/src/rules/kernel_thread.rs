// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::facts::Newcomer;
use crate::{Arrived, CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread",
    title: "Kernel thread ran on this CPU",
    explanation: "The kernel does part of its work in threads. Per-CPU threads cannot be moved; the others \
        can. Before 7.0, nohz_full= excludes CPUs from their affinity from the start, while isolcpus=domain \
        only keeps the scheduler from placing threads there: they still may run there, and a thread that \
        was there before or is pinned there does. From 7.0 on isolcpus=domain excludes the CPUs from their \
        affinity, and each change of an isolated cpuset partition sets the affinity of unbound threads anew, over what \
        taskset had set.",
    fixes: &[
        RuleFix {
            action: Fix::Boot("isolcpus=domain,{quiet}"),
            effect: not_tried!(
                "Threads that are not bound to the CPU stay away; before 7.0 because the CPU is in no \
                scheduling domain, not by their affinity, so dyntick check still lists them."
            ),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("taskset -pc {housekeeping} {task}"),
            effect: not_tried!(
                "Moves a thread that is not bound; the chain names it. From 7.0 on the next change of an isolated \
                partition undoes it."
            ),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/kthread.c: kthread",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let (woke, task) = match (case.kind, case.arrival()) {
        (Kind::KernelThread | Kind::WorkItem, _) => (None, case.facts.turn()?),
        (_, Some(Arrival::KernelThread(Newcomer { task, woken_by }))) => {
            (woken_by.as_ref().map(|by| Step::Woke { by: by.into(), task: task.clone() }), task)
        }
        _ => return None,
    };
    let effect = case.effect(Arrived::task(task));
    Finding::new(CauseId::kernel_thread(&task.comm), woke.into_iter().chain([effect]))
}
