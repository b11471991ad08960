// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:rcu_barrier_handler",
    title: "Somebody waited for all callbacks of RCU",
    explanation: "Deleting a network device (the end of a container does), unloading a module or destroying \
        a cache of the kernel calls rcu_barrier, which has each CPU that holds callbacks queue one more behind \
        them.",
    fixes: &[Fix {
        setting: Setting::Program("end containers and unload modules before the quiet phase"),
        effect: "Nobody waits for callbacks.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/rcu/tree.c: rcu_barrier, rcu_barrier_handler",
    names_origin: true,
    detect: None,
};
