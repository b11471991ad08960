// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding, sent_by};
use crate::{CauseId, Step};

pub(super) static RULE: Rule = Rule {
    id: "ipi",
    title: "IPI from another CPU",
    explanation: "No task was seen to be woken by the interrupt, and no called function was reported, but \
        the kernel function that sent it is known.",
    fixes: &[RuleFix::advice(
        "look at the function that sent it, and at the task that ran on the sending CPU",
        "The chain names both.",
    )],
    source: "kernel/smp.c: send_call_function_single_ipi; kernel/sched/core.c: resched_curr",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let send = case.facts.senders.last()?;
    let place = send.origin.function.as_ref().unwrap_or(&send.callsite);
    let chain = [sent_by(send), Step::Interrupted { cpu: case.cpu() }];
    Finding::new(CauseId::member(&RULE, place.clone()), chain)
}

/// The members of this class that have their own rule.
pub(super) static MEMBERS: &[Rule] = &[
    Rule {
        id: "ipi:cgroup_freeze_task",
        title: "cgroup freezer: the running task was frozen",
        explanation: "cgroup.freeze was written (docker pause and systemctl freeze write it). A running task \
            is interrupted so that it stops at once.",
        fixes: &[RuleFix::advice(
            "do not pause the container or the unit that the quiet task belongs to",
            "No task is frozen.",
        )],
        source: "kernel/cgroup/freezer.c: cgroup_freeze_task",
        ..Rule::DEFAULT
    },
    Rule {
        id: "ipi:wake_up_if_idle",
        title: "Idle CPUs woken: PM QoS latency or cpuidle driver changed",
        explanation: "When the latency limit of all CPUs is changed (/dev/cpu_dma_latency, PM QoS), idle \
            CPUs are woken, so that none stays in an idle state that is too deep. Changes of the cpuidle \
            driver wake them, too.",
        fixes: &[RuleFix::advice("set the latency once and keep the file open", "No change, no wake-up.")],
        source: "kernel/smp.c: wake_up_all_idle_cpus",
        ..Rule::DEFAULT
    },
];
