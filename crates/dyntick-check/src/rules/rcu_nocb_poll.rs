// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "rcu-nocb-poll",
    title: "rcu_nocb_poll without an offloaded CPU",
    severity: Severity::Note,
    reads: &[CMDLINE],
    source: "kernel/rcu/tree_nocb.h: nocb_gp_wait",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(said) = machine.said("rcu_nocb_poll") else { return Vec::new() };
    if !super::callbacks_not_offloaded::offloaded(machine).is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .note("'rcu_nocb_poll' does nothing: no CPU's callbacks are offloaded")
        .seen([said])
        .so("It makes the threads that run offloaded callbacks poll for them.");
    vec![finding.unboot("rcu_nocb_poll")]
}
