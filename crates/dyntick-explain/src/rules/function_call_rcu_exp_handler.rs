// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:rcu_exp_handler",
    title: "Expedited RCU grace period: IPI to this CPU",
    explanation: "An expedited grace period was requested, and each CPU is interrupted that RCU does not \
        know to be in an extended quiescent state (idle or user mode). User mode counts only on nohz_full \
        CPUs: on all others, including isolated ones, a program is interrupted although it never enters the \
        kernel.",
    fixes: &[
        RuleFix {
            action: Fix::Boot("nohz_full={quiet}"),
            effect: with_nohz_full!(
                "User mode then counts as a quiescent state (context tracking), so only a CPU that is in the kernel is \
                interrupted."
            ),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("rcupdate.rcu_normal=1"),
            effect: "Expedited grace periods become normal ones.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("echo 1 > /sys/kernel/rcu_normal"),
            effect: "The same at run time.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/rcu/tree_exp.h: sync_rcu_exp_select_node_cpus, rcu_exp_handler",
    names_origin: true,
};
