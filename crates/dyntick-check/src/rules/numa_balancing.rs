// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "numa-balancing",
    title: "NUMA balancing unmaps pages to find which node uses them",
    severity: Severity::Note,
    reads: &[NUMA_BALANCING, NODES],
    source: "kernel/sched/fair.c: task_numa_work; mm/memory.c: do_numa_page",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let nodes = machine.cpus(NODES).unwrap_or_default();
    let on = machine.number(NUMA_BALANCING).is_some_and(|mode| mode & 1 == 1);
    if !on || nodes.len() < 2 || machine.target.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .note("NUMA balancing is on")
        .on(&machine.target)
        .seen(machine.evidence(NUMA_BALANCING))
        .seen(machine.evidence(NODES))
        .so("Tasks on isolated CPUs take page faults and TLB flushes for it, at each scan of their memory.")
        .command("sysctl -w kernel.numa_balancing=0");
    vec![finding]
}
