// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread",
    title: "A thread of the kernel ran on this CPU",
    explanation: "The kernel does part of its work in threads. Those that belong to one CPU cannot be \
        moved; the others can. Until 7.0 nohz_full= leaves CPUs out of their affinity from the start, and \
        isolcpus=domain only has the scheduler place none there: they still may run there, and one that was there \
        before or is pinned there does. From 7.0 on isolcpus=domain leaves the CPUs out of their affinity.",
    fixes: &[
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: not_tried!(
                "Threads that are not bound to the CPU stay away; until 7.0 for want of a scheduling domain, not \
                by their affinity, so that dyntick check goes on naming them."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Command("taskset -pc HOUSEKEEPING-CPUS PID"),
            effect: not_tried!("Moves a thread that is not bound; the chain names it."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/kthread.c: kthread",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let mut chain = Vec::new();
    let task = match (case.kind, case.arrival()) {
        (Kind::KernelThread | Kind::WorkItem, _) => case.facts.turn()?,
        (_, Some(Arrival::KernelThread(newcomer))) => {
            let by = newcomer.woken_by.as_ref();
            chain.extend(by.map(|by| format!("{by} made {} runnable", newcomer.task)));
            &newcomer.task
        }
        _ => return None,
    };
    chain.push(case.effect(&task.to_string()));
    Finding::new(CauseId::kernel_thread(&task.comm), chain)
}
