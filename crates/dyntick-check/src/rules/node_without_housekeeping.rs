// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "node-without-housekeeping",
    title: "Isolated CPUs on a NUMA node without a housekeeping CPU",
    severity: Severity::Note,
    reads: &[NODE_CPUS],
    source: "kernel/sched/isolation.c: housekeeping_any_cpu (sched_numa_find_closest)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let rest = machine.housekeeping();
    let lacks = |(path, list): (&str, &str)| {
        let own: CpuList = list.parse().ok()?;
        let hit = machine.of_target(&own);
        (!hit.is_empty() && own.intersection(&rest).is_empty()).then(|| judge(machine, path, &hit))
    };
    machine.matching(NODE_CPUS).filter_map(lacks).collect()
}

fn judge(machine: &Machine<'_>, path: &str, hit: &CpuList) -> Finding {
    let node = path.split('/').nth_back(1).unwrap_or_default();
    RULE.note(format!("{node} has no housekeeping CPU for {}", cpus(hit)))
        .on(hit)
        .seen(machine.evidence(path))
        .so("Their timers, RCU callbacks and unbound work run on CPUs of another node, which access this \
             node's memory, and wake its CPUs, remotely.")
        .advice(format!("keep one CPU, or one core, of {node} for housekeeping"))
}
