// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, names};

pub(super) static RULE: Rule = Rule {
    id: "softirq",
    title: "Softirqs ran in the task's context",
    explanation: "Interrupt handlers leave part of their work to softirqs. Those that a system call raises, \
        or that were left pending, run in the context of the task when it enables softirqs (bottom halves) \
        again.",
    fixes: &[Fix {
        setting: Setting::Program("look at the system calls of the task, network sends above all"),
        effect: "The name of the softirq shows the subsystem.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/softirq.c: do_softirq",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let (softirq, who) = match (case.kind, case.facts.left_over.first(), case.facts.turn()) {
        (Kind::Softirq { softirq }, ..) => (softirq, &case.facts.victim),
        (Kind::KernelThread, Some(softirq), Some(thread))
            if names::thread_family(&thread.comm) == "ksoftirqd" =>
        {
            (softirq, thread)
        }
        _ => return None,
    };
    let chain = [format!("softirq {} ran in {who} on {}", softirq.kernel_name(), case.cpu())];
    Finding::new(CauseId::member("softirq", softirq.kernel_name()), chain)
}
