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
    let judge = |(file, state): &(String, String)| {
        let group = file.trim_start_matches("/sys/fs/cgroup").trim_end_matches("/cpuset.cpus.partition");
        let finding = RULE
            .error(format!("the partition {group} isolates nothing: {state}"))
            .seen(machine.evidence(file))
            .so("The group's CPUs are shared with its parent and load balanced.");
        again(finding, file, state)
    };
    invalid.map(judge).collect()
}

/// Suggests writing the kind again once its cause is fixed. The creator of the group has chosen its name.
fn again(finding: Finding, file: &str, state: &str) -> Finding {
    let kind = if state.starts_with("isolated") { "isolated" } else { "root" };
    match shell::path(file) {
        Ok(file) => finding.command(format!("echo {kind} > {file}  # after the cause in parentheses is fixed")),
        Err(why) => finding.advice(format!(
            "when the cause in parentheses is fixed, write {kind} to {file} yourself; no command can be given \
             with this name: {why}"
        )),
    }
}
