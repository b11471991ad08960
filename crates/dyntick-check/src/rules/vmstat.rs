// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "vmstat",
    title: "vmstat: a worker folds memory counters on an isolated CPU",
    severity: Severity::Warning,
    reads: &[STAT_INTERVAL, ISOLATED, NOHZ_FULL, PARTITION, PARTITION_2, PARTITION_3],
    source: "mm/vmstat.c: vmstat_shepherd; include/linux/sched/isolation.h: cpu_is_isolated",
    find,
};

/// The longest interval that is worth reporting, s.
const OFTEN_S: i64 = 10;

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // Since 6.5 the shepherd skips CPUs that are isolated at boot, since 6.9 those of isolated partitions. Until 7.0
    // those of nohz_full are among them (measured on 7.2.13). Before 6.5, the stopped tick hides the work from
    // tickless CPUs (measured on 6.1.192).
    let booted = machine.cpus(ISOLATED).unwrap_or_default();
    let spared = match (machine.kernel.major, machine.kernel.minor) {
        (7.., _) => machine.isolated.clone(),
        (6, 9..) => machine.isolated.union(&machine.nohz_full),
        (6, 5..) => booted.union(&machine.nohz_full),
        _ => machine.nohz_full.clone(),
    };
    let hit = machine.target.difference(&spared);
    let Some(seconds) = machine.number(STAT_INTERVAL).filter(|seconds| *seconds <= OFTEN_S) else {
        return Vec::new();
    };
    if hit.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .warning(format!("the vmstat worker may run on {} every {seconds} s", cpus(&hit)))
        .on(&hit)
        .seen(machine.evidence(STAT_INTERVAL))
        .so("A kworker folds the per-CPU memory counters (vmstat_update) whenever they have changed: two \
             context switches.")
        .command("sysctl -w vm.stat_interval=60");
    vec![finding]
}
