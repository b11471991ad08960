// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "workqueue",
    title: "Work item (workqueue) ran on this CPU",
    explanation: "Kernel code queued a function for a worker thread of this CPU. The worker is a second \
        runnable task: it preempts the running one, and on a nohz_full CPU the tick runs again for a while.",
    fixes: &[
        Fix {
            setting: Setting::Command("echo MASK > /sys/devices/virtual/workqueue/cpumask"),
            effect: not_tried!(
                "Keeps unbound work away from the CPUs that are not in the mask. Work that was queued for \
                this specific CPU is not moved."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("workqueue.power_efficient=1"),
            effect: not_tried!(
                "Makes those per-CPU workqueues unbound that are marked WQ_POWER_EFFICIENT. From 6.9 on \
                nohz_full= implies it."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("isolcpus=domain,N"),
            effect: not_tried!("Keeps unbound work away from the CPU."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/workqueue.c: __queue_work, process_one_work",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    if *case.kind == Kind::TimerWheel {
        return delayed(case);
    }
    let Some(Arrival::Work { work, worker }) = case.arrival() else { return None };
    let function = &work.function;
    let mut chain = Vec::new();
    if let Some(origin) = &work.queued_by {
        chain.push(format!("{origin} queued {function} for {}", case.cpu()));
    }
    chain.push(format!("{worker} became runnable to run {function}"));
    chain.push(case.effect(&worker.to_string()));
    Finding::new(CauseId::member("workqueue", function), chain)
}

/// A timer of a delayed work item woke a CPU whose tick was stopped.
fn delayed(case: &Case<'_>) -> Option<Finding> {
    let timer = case.due_timer().filter(|timer| &*timer.function == "delayed_work_timer_fn")?;
    let function = case.facts.queued.first()?;
    let chain = [
        format!("the delay of work item {function} ended on {}", case.cpu()),
        format!("{} interrupted {} to queue it", timer.function, case.facts.victim),
    ];
    Finding::new(CauseId::member("workqueue", function), chain)
}
