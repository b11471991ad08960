// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "partition-invalid",
    title: "A cpuset partition that the kernel has declared invalid",
    severity: Severity::Error,
    reads: &[PARTITION, PARTITION_2, PARTITION_3],
    source: "kernel/cgroup/cpuset.c: update_parent_effective_cpumask, sched_partition_show",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let invalid = machine.partitions.iter().filter(|(_, state)| state.contains("invalid"));
    let told = |(file, state): &(String, String)| {
        let group = file.trim_start_matches("/sys/fs/cgroup").trim_end_matches("/cpuset.cpus.partition");
        let kind = state.split_ascii_whitespace().next().unwrap_or("root");
        RULE.error(format!("the partition {group} isolates nothing: {state}"))
            .seen(machine.evidence(file))
            .so("The group's CPUs are shared with its parent and load balanced.")
            .command(format!("echo {kind} > {file}  # after what stands in parentheses is mended"))
    };
    invalid.map(told).collect()
}
