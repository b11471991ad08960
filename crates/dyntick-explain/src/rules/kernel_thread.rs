// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread",
    title: "Kernel thread ran on this CPU",
    explanation: "The kernel does part of its work in threads. Per-CPU threads cannot be moved; the others \
        can. Before 7.0, nohz_full= excludes CPUs from their affinity from the start, while isolcpus=domain \
        only keeps the scheduler from placing threads there: they still may run there, and a thread that \
        was there before or is pinned there does. From 7.0 on isolcpus=domain excludes the CPUs from their \
        affinity.",
    fixes: &[
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: not_tried!(
                "Threads that are not bound to the CPU stay away; before 7.0 because the CPU is in no \
                scheduling domain, not by their affinity, so dyntick check still lists them."
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
            chain.extend(by.map(|by| format!("{by} woke {}", newcomer.task)));
            &newcomer.task
        }
        _ => return None,
    };
    chain.push(case.effect(&task.to_string()));
    Finding::new(CauseId::kernel_thread(&task.comm), chain)
}
