// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:rcuc",
    title: "rcuc/N: RCU core and callbacks ran in a thread",
    explanation: "On PREEMPT_RT, or with rcutree.use_softirq=0, this thread of each CPU does what the RCU softirq does \
        elsewhere: it reports quiescent states and runs callbacks that are not offloaded. It is bound to its CPU.",
    fixes: &[
        RuleFix {
            action: Fix::Boot("rcu_nocbs={quiet}"),
            effect: not_tried!(
                "Moves the callbacks to other threads, which can be moved; nohz_full implies it."
            ),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("open and close fewer files, and map and unmap less memory, on this CPU"),
            effect: "Fewer callbacks to run.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/rcu/tree.c: rcu_cpu_kthread",
    names_origin: true,
};
