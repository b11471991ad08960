// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "redundant-parameter",
    title: "A parameter that changes nothing",
    severity: Severity::Note,
    reads: &[CMDLINE, NOHZ_FULL, CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG],
    source: "kernel/rcu/tree_nocb.h: rcu_init_nohz; kernel/irq/manage.c: setup_forced_irqthreads",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    [nocbs(machine), nohz(machine), threads(machine)].into_iter().flatten().collect()
}

fn nocbs(machine: &Machine<'_>) -> Option<Finding> {
    let named = machine.line.cpus("rcu_nocbs", machine.possible)?.ok()?;
    // Where nohz_full= is not in effect rcu_nocbs= may be all that offloads.
    let offloaded = machine.asked.tick.intersection(&machine.nohz_full);
    let covered = !named.is_empty() && named.difference(&offloaded).is_empty();
    covered.then(|| redundant(machine, "rcu_nocbs", "nohz_full offloads the callbacks of its CPUs itself"))?
}

fn nohz(machine: &Machine<'_>) -> Option<Finding> {
    (machine.line.get("nohz").and_then(boolean)? && machine.has("NO_HZ_COMMON") != Some(false))
        .then(|| redundant(machine, "nohz", "it is the default"))?
}

fn threads(machine: &Machine<'_>) -> Option<Finding> {
    (machine.has("PREEMPT_RT") == Some(true))
        .then(|| redundant(machine, "threadirqs", "a PREEMPT_RT kernel always runs interrupts in threads"))?
}

fn redundant(machine: &Machine<'_>, name: &str, why: &str) -> Option<Finding> {
    let said = machine.said(name)?;
    let parameter = said.value.clone();
    let finding = RULE.note(format!("'{parameter}' changes nothing: {why}")).seen([said]);
    Some(finding.so("It does no harm.").unboot(parameter))
}
