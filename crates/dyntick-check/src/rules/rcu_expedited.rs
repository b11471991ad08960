// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "rcu-expedited",
    title: "RCU grace periods are expedited, which interrupts CPUs",
    severity: Severity::Warning,
    reads: &[CMDLINE, RCU_EXPEDITED, RCU_NORMAL],
    source: "kernel/rcu/update.c: rcu_gp_is_normal, rcu_end_inkernel_boot; kernel/rcu/tree_exp.h: \
             __sync_rcu_exp_select_node_cpus",
    find,
};

const EXPEDITED: &str = "rcupdate.rcu_expedited";
const AFTER_BOOT: &str = "rcupdate.rcu_normal_after_boot";

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let said = machine.said(EXPEDITED).filter(|_| on(machine, EXPEDITED) == Some(true));
    let is_on = is_set(machine, RCU_EXPEDITED).unwrap_or(said.is_some());
    if machine.target.is_empty() || !is_on {
        return Vec::new();
    }
    let after_boot = on(machine, AFTER_BOOT);
    let booted_normal =
        on(machine, "rcupdate.rcu_normal") == Some(true) || after_boot.unwrap_or_else(|| machine.is_rt());
    if is_set(machine, RCU_NORMAL).unwrap_or(booted_normal) {
        // A line with both wants only a fast boot.
        let (Some(said), None) = (said, after_boot) else { return Vec::new() };
        let finding = RULE
            .note(format!("'{}' has no effect once the machine has booted", said.value))
            .seen([said.clone()])
            .seen(machine.evidence(RCU_NORMAL))
            .so("Where rcu_normal is set, which PREEMPT_RT does at the end of the boot, grace periods are normal.");
        return vec![finding.unboot(said.value)];
    }
    let finding = RULE
        .warning("RCU grace periods are expedited")
        .on(&machine.target)
        .seen(said.clone())
        .seen(machine.evidence(RCU_EXPEDITED))
        .seen(machine.evidence(RCU_NORMAL))
        .so("Each grace period that a task waits for sends an IPI to every CPU, except to idle ones and to \
             nohz_full CPUs in user space.");
    let lasting =
        format!("{AFTER_BOOT}=1 on the command line keeps the fast boot, and does the same at its end");
    vec![match said {
        Some(said) => finding.unboot(said.value).command(format!("echo 1 > {RCU_NORMAL}")).advice(lasting),
        None => finding.command(format!("echo 0 > {RCU_EXPEDITED}")),
    }]
}

/// Reads a parameter that is a number.
fn on(machine: &Machine<'_>, name: &str) -> Option<bool> {
    machine.line.get(name)?.parse::<i64>().ok().map(|value| value != 0)
}

fn is_set(machine: &Machine<'_>, file: &str) -> Option<bool> {
    machine.number(file).map(|value| value != 0)
}
