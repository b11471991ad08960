// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "cpuset-v1",
    title: "Cpusets of control groups v1 without load balancing",
    severity: Severity::Note,
    reads: &[
        BALANCE_ROOT[0],
        BALANCE_ROOT[1],
        BALANCE_ROOT[2],
        BALANCE[0],
        BALANCE[1],
        BALANCE[2],
        BALANCE[3],
        BALANCE[4],
        BALANCE[5],
        BALANCE[6],
        BALANCE[7],
        BALANCE[8],
        CPUSET_CPUS[0],
        CPUSET_CPUS[1],
        CPUSET_CPUS[2],
        CPUSET_CPUS[3],
        CPUSET_CPUS[4],
        CPUSET_CPUS[5],
        CPUSET_CPUS[6],
        CPUSET_CPUS[7],
        CPUSET_CPUS[8],
    ],
    source: "kernel/cgroup/cpuset.c: generate_sched_domains",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let sets = &machine.cpusets;
    let Some(root) = sets.root else { return Vec::new() };
    let isolated = machine.of_target(&sets.isolated);
    // CPUs that are isolated by other means need no cpuset for it.
    let missed = sets.unbalanced.iter().fold(CpuList::default(), |sum, set| sum.union(&set.cpus));
    let missed = missed.difference(&machine.isolated);
    let of = |cpus: &CpuList| {
        sets.unbalanced.iter().filter(|set| !set.cpus.intersection(cpus).is_empty()).collect::<Vec<_>>()
    };
    let seen = |finding: Finding, cpus: &CpuList| {
        finding
            .on(cpus)
            .seen(machine.evidence(root))
            .seen(of(cpus).iter().filter_map(|set| machine.evidence(&set.file)))
    };
    let mut found = Vec::new();
    if machine.online.is_subset(&sets.isolated) {
        let finding = RULE
            .note("no CPU is load balanced: the root cpuset of control groups v1 is not, nor any other one")
            .so("A task stays on the CPU where it started, on all CPUs of the machine.")
            .advice("switch load balancing on in the cpuset of the system's own services");
        return vec![seen(finding, &machine.online)];
    }
    if !isolated.is_empty() {
        let finding = RULE
            .note(format!("{} isolated by a cpuset of control groups v1, without load balancing", cpus_are(&isolated)))
            .so("As with isolcpus= the scheduler moves no task there. Kernel threads, timers, callbacks and interrupts \
                 are not kept away by it.")
            .advice("keep it; a cpuset that has these CPUs and is balanced, or a balanced root, ends it");
        found.push(seen(finding, &isolated));
    }
    if !missed.is_empty() {
        let finding = RULE
            .note(format!(
                "{} in a cpuset without load balancing, but balanced by another one",
                cpus_are(&missed)
            ))
            .so("A CPU is balanced as long as any cpuset with it is, the root first of all.")
            .advice(format!(
                "switch load balancing off in each cpuset that has these CPUs{}",
                if machine.text(root) == Some("0") {
                    String::new()
                } else {
                    format!(", the root first: echo 0 > {root}")
                }
            ));
        found.push(seen(finding, &missed));
    }
    found
}
