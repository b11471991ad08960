// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:rcu_exp_handler",
    title: "An expedited RCU grace period asked this CPU",
    explanation: "Somebody asked RCU for a quick answer, and each CPU is interrupted that RCU does not know to be idle \
        or in user mode. It knows of user mode only on nohz_full CPUs: on all others, isolated ones too, a program is \
        interrupted although it never enters the kernel.",
    fixes: &[
        Fix {
            setting: Setting::Boot("nohz_full=N"),
            effect: "User mode then counts as an answer (context tracking), so only a CPU that is in the kernel is \
                interrupted. Each entry into the kernel becomes dearer. On 6.12 the CPU then has the fair server (fair-server), which has a fix of its own.",
            versions: Versions::ALL,
        },
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
    source: "kernel/rcu/tree_exp.h: sync_rcu_exp_select_node_cpus, rcu_exp_handler",
    names_origin: true,
    detect: None,
};
