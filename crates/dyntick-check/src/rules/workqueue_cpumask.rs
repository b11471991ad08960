// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "workqueue-cpumask",
    title: "Unbound workqueues may run on an isolated CPU",
    severity: Severity::Warning,
    reads: &[WORKQUEUE_CPUMASK, WORKQUEUE_MASKS],
    source: "kernel/workqueue.c: workqueue_init_early, workqueue_apply_unbound_cpumask",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let mask =
        machine.text(WORKQUEUE_CPUMASK).and_then(|mask| CpuList::from_mask(mask).ok()).unwrap_or_default();
    let hit = machine.of_target(&mask);
    if hit.is_empty() {
        return Vec::new();
    }
    // The mask of a single queue counts only within this one.
    let own = machine.matching(WORKQUEUE_MASKS).filter_map(|(path, _)| machine.evidence(path));
    let rest = mask.intersection(&machine.housekeeping());
    let rest = if rest.is_empty() { machine.housekeeping() } else { rest };
    let finding = RULE
        .warning(format!("unbound work items may run on {}", cpus(&hit)))
        .on(&hit)
        .seen(machine.evidence(WORKQUEUE_CPUMASK))
        .seen(own)
        .so("A worker takes the CPU from the running task: writeback, crypto, filesystems and drivers queue such work.");
    let finding = moved(finding, machine, |_| format!("echo {} > {WORKQUEUE_CPUMASK}", rest.to_mask()));
    // ace3c5499e61.
    vec![if machine.since(6, 6) && !rest.is_empty() {
        finding.boot(format!("workqueue.unbound_cpus={rest}"))
    } else {
        finding
    }]
}
