// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "irqbalance",
    title: "irqbalance does not know that a CPU is isolated",
    severity: Severity::Warning,
    reads: &[TASK_STAT, TASK_STATUS, ISOLATED, NOHZ_FULL],
    source: "irqbalance, cputree.c: setup_banned_cpus",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(task) = machine.runs("irqbalance") else { return Vec::new() };
    let booted: CpuList = machine.text(ISOLATED).and_then(|list| list.parse().ok()).unwrap_or_default();
    let hit = machine.target.difference(&booted).difference(&machine.nohz_full);
    if hit.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .warning(format!("irqbalance runs and may move interrupts to {}", cpus(&hit)))
        .on(&hit)
        .seen([Evidence { file: task.file.clone(), value: "irqbalance".to_owned() }])
        .seen(machine.evidence(ISOLATED))
        .so("It spares only the CPUs of isolcpus= and nohz_full= as they were when it started.")
        .advice(format!("set IRQBALANCE_BANNED_CPULIST={hit} in /etc/default/irqbalance and restart it"))
        ;
    vec![finding]
}
