// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{Arrived, CauseId, Kind, Step};
use dyntick_model::Role;

pub(super) static RULE: Rule = Rule {
    id: "workqueue",
    title: "Work item (workqueue) ran on this CPU",
    explanation: "Kernel code queued a function for a worker thread of this CPU. The worker is a second runnable task: it \
        preempts the running one, and on a nohz_full CPU the tick runs again for a while. A worker kworker/N:M runs \
        what was queued for its CPU N, which no setting moves; one with a u (kworker/uN:M) runs unbound work, which \
        follows the masks of workqueues.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "find out what queues it: dyntick explain names the task, or the timer and what set it",
            ),
            effect: "Work that was queued for this CPU goes only with what queues it.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("echo {mask} > /sys/devices/virtual/workqueue/cpumask"),
            effect: not_tried!(
                "Keeps unbound work, that of kworker/uN:M, on the CPUs in the mask. Work that was queued for this CPU \
                is not moved."
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
