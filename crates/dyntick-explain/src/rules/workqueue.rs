// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{Arrived, CauseId, Kind, Step};
use dyntick_model::Role;

pub(super) static RULE: Rule = Rule {
    id: "workqueue",
    title: "Work item (workqueue) ran on this CPU",
    explanation: "Kernel code queued a function for a worker thread of this CPU. The worker is a second \
        runnable task: it preempts the running one, and on a nohz_full CPU the tick runs again for a while.",
    fixes: &[
        RuleFix {
            action: Fix::Command("echo {mask} > /sys/devices/virtual/workqueue/cpumask"),
            effect: not_tried!(
                "Keeps unbound work away from the CPUs that are not in the mask. Work that was queued for \
                this specific CPU is not moved."
            ),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("workqueue.power_efficient=1"),
            effect: not_tried!(
                "Makes those per-CPU workqueues unbound that are marked WQ_POWER_EFFICIENT. From 6.9 on \
                nohz_full= implies it."
            ),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("isolcpus=domain,{quiet}"),
            effect: not_tried!("Keeps unbound work away from the CPU."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/workqueue.c: __queue_work, process_one_work",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if *case.kind == Kind::TimerWheel {
        return delayed(case);
    }
    let Some(Arrival::Work { work, worker }) = case.arrival() else { return None };
    let function = &work.function;
    let queued = work.queued_by.as_ref().map(|by| Step::QueuedWork {
        by: by.into(),
        function: function.clone(),
        cpu: case.cpu(),
    });
    let runnable = Step::WorkerRunnable { worker: worker.clone(), function: function.clone() };
    let effect = case.effect(Arrived::task(worker));
    Finding::new(CauseId::member(&RULE, function.clone()), queued.into_iter().chain([runnable, effect]))
}

/// A timer of a delayed work item woke a CPU whose tick was stopped.
fn delayed(case: &Case<'_>) -> Option<Finding> {
    let timer = case.due_timer().filter(|timer| Role::of(&timer.function) == Some(Role::DelayedWork))?;
    let function = case.facts.queued.as_ref()?;
    let chain = [
        Step::WorkDelayEnded { function: function.clone(), cpu: case.cpu() },
        Step::InterruptedToQueue { timer: timer.function.clone(), victim: case.facts.victim.clone() },
    ];
    Finding::new(CauseId::member(&RULE, function.clone()), chain)
}
