// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step, names};

pub(super) static RULE: Rule = Rule {
    id: "softirq",
    title: "Softirq ran",
    explanation: "Interrupt handlers and system calls leave part of their work to softirqs, which run when an \
        interrupt ends, or in the context of the task when it enables softirqs (bottom halves) again. NET_RX and \
        NET_TX are packets, BLOCK the ends of block I/O, SCHED load balancing, RCU callbacks that are not offloaded.",
    fixes: &[RuleFix {
        action: Fix::Advice(
            "look at what raises it: for NET_RX and NET_TX the task's network calls, for BLOCK its I/O",
        ),
        effect: "The name of the softirq shows the subsystem.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/softirq.c: do_softirq",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let (softirq, who) = match (case.kind, case.facts.left_over, case.facts.turn()) {
        (Kind::Softirq { softirq }, ..) => (*softirq, &case.facts.victim),
        (Kind::KernelThread, Some(softirq), Some(thread)) if names::is_ksoftirqd(&thread.comm) => {
            (softirq, thread)
        }
        _ => return None,
    };
    let ran = Step::SoftirqRan { softirq, in_task: who.clone(), cpu: case.cpu() };
    Finding::new(CauseId::member(&RULE, softirq.kernel_name()), [ran])
}
