// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:rcu_barrier_handler",
    title: "rcu_barrier(): a task waited for all RCU callbacks",
    explanation: "Deleting a network device (the end of a container does so), unloading a module or \
        destroying a slab cache calls rcu_barrier(), which interrupts each CPU that holds callbacks to \
        queue one more after them.",
    fixes: &[RuleFix {
        action: Fix::Advice("end containers and unload modules before the quiet phase"),
        effect: "rcu_barrier() is not called.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/rcu/tree.c: rcu_barrier, rcu_barrier_handler",
    names_origin: true,
};
