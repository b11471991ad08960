// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread",
    title: "A thread of the kernel ran on this CPU",
    explanation: "The kernel does part of its work in threads. Those that belong to one CPU cannot be \
        moved; the others can, and isolcpus=domain (on 6.1 and 6.12 nohz_full, too) keeps them \
        away from the start.",
    fixes: &[
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: "Threads that are not bound to the CPU stay away.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Command("taskset -pc HOUSEKEEPING-CPUS PID"),
            effect: "Moves a thread that is not bound; the chain names it.",
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
