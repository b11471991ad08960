// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:rcu_exp_handler",
    title: "An expedited RCU grace period asked this CPU",
    explanation: "Somebody asked RCU for a quick answer, and each CPU that is not idle or in user mode is \
        interrupted for it.",
    fixes: &[
        Fix {
            setting: Setting::Boot("rcupdate.rcu_normal=1"),
            effect: "Expedited grace periods become normal ones.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Command("echo 1 > /sys/kernel/rcu_normal"),
            effect: "The same at run time.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/rcu/tree_exp.h: rcu_exp_handler",
    names_origin: true,
    detect: None,
};
