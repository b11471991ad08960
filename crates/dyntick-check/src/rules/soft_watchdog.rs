// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "soft-watchdog",
    title: "The soft-lockup watchdog runs on an isolated CPU",
    severity: Severity::Warning,
    reads: &[SOFT_WATCHDOG, WATCHDOG_CPUMASK, WATCHDOG_THRESH],
    source: "kernel/watchdog.c: watchdog_enable, set_sample_period",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let hit = machine.of_target(&watched(machine));
    if machine.text(SOFT_WATCHDOG) != Some("1") || hit.is_empty() {
        return Vec::new();
    }
    // Two fifths of the threshold (`set_sample_period`).
    let period = machine.number(WATCHDOG_THRESH).unwrap_or(10) as f64 * 2.0 / 5.0;
    let finding = RULE
        .warning(format!("the soft-lockup watchdog runs on {}", cpus(&hit)))
        .on(&hit)
        .seen(machine.evidence(SOFT_WATCHDOG))
        .seen(machine.evidence(WATCHDOG_CPUMASK))
        .so(format!("A timer interrupt every {period} s, which wakes a thread of the highest priority."))
        .command(elsewhere(machine));
    vec![finding]
}

/// The CPUs that the watchdogs watch.
pub(super) fn watched(machine: &Machine<'_>) -> CpuList {
    machine.cpus(WATCHDOG_CPUMASK).unwrap_or_default()
}

/// Confines the watchdogs to the other CPUs.
pub(super) fn elsewhere(machine: &Machine<'_>) -> String {
    let rest = watched(machine).intersection(&machine.housekeeping());
    if rest.is_empty() {
        "sysctl -w kernel.watchdog=0".to_owned()
    } else {
        format!("sysctl -w kernel.watchdog_cpumask={rest}")
    }
}
