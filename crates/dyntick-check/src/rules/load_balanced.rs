// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "load-balanced",
    title: "A nohz_full CPU is still load balanced",
    severity: Severity::Warning,
    reads: &[NOHZ_FULL, ISOLATED, CONTROLLERS, PARTITION, PARTITION_2, PARTITION_3],
    source: "kernel/sched/isolation.c: housekeeping_nohz_full_setup; kernel/sched/topology.c: sched_init_domains",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let balanced = machine.of_target(&machine.nohz_full).difference(&machine.isolated);
    let balanced = balanced.difference(&super::isolcpus_without_domain::concerned(machine));
    if balanced.is_empty() {
        return Vec::new();
    }
    let more = match machine.since(7, 0) {
        true => {
            " Since 7.0 nohz_full alone does not keep kernel threads, unbound work and vmstat away either."
        }
        false => "",
    };
    let finding = RULE
        .warning(format!("{} in nohz_full, but still load balanced", cpus_are(&balanced)))
        .on(&balanced)
        .seen(machine.evidence(NOHZ_FULL))
        .seen(machine.evidence(ISOLATED))
        .so(format!(
            "Any task may be placed there, and the tick restarts once a second task is runnable.{more}"
        ))
        .composed(machine.composed(&domain(machine, &balanced).and(&managed_irq(&balanced))));
    vec![partition(finding, machine, &balanced)]
}

/// Makes an isolated partition of some CPUs; the tasks that belong there are then moved into it. None where
/// `isolcpus=` isolates others: when a partition begins, the kernel's own threads get all CPUs that are in none
/// (`kernel/cgroup/cpuset.c: cpuset_update_tasks_cpumask`, 6.12), those of `isolcpus=` too; and 6.12 takes none of
/// these into a new partition ("partition config conflicts with housekeeping setup", seen on 6.12.117). None either
/// where the root of control groups v2, with the controller `cpuset`, is not mounted there.
pub(super) fn partition(finding: Finding, machine: &Machine<'_>, cpus: &CpuList) -> Finding {
    let controllers = machine.text(CONTROLLERS).unwrap_or_default();
    if !machine.asked.domain.is_empty() || !controllers.split(' ').any(|name| name == "cpuset") {
        return finding;
    }
    finding.command(format!(
        "(cd /sys/fs/cgroup && echo +cpuset > cgroup.subtree_control && mkdir -p quiet && \
         echo {cpus} > quiet/cpuset.cpus && echo isolated > quiet/cpuset.cpus.partition)"
    ))
}
