// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:rcuop",
    title: "rcuop: offloaded RCU callbacks ran on this CPU",
    explanation: "The callbacks of nohz_full and rcu_nocbs CPUs run in separate threads (rcuog, rcuop), \
        which the scheduler may place on any CPU in their affinity mask.",
    fixes: &[RuleFix {
        action: Fix::Command("for p in $(pgrep rcuo); do taskset -pc {housekeeping} $p; done"),
        effect: "Keeps all of them on other CPUs.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/rcu/tree_nocb.h: rcu_nocb_cb_kthread",
    names_origin: true,
};
