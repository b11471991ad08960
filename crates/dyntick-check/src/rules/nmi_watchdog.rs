// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "nmi-watchdog",
    title: "The watchdog for hard lockups runs on an isolated CPU",
    severity: Severity::Warning,
    reads: &[NMI_WATCHDOG, WATCHDOG_CPUMASK, WATCHDOG_THRESH],
    source: "kernel/watchdog_perf.c: watchdog_hardlockup_enable",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let hit = machine.of_target(&super::soft_watchdog::watched(machine));
    if machine.text(NMI_WATCHDOG) != Some("1") || hit.is_empty() {
        return Vec::new();
    }
    let seconds = machine.number(WATCHDOG_THRESH).unwrap_or(10);
    let finding = RULE
        .warning(format!("the hard-lockup watchdog runs on {}", cpus(&hit)))
        .on(&hit)
        .seen(machine.evidence(NMI_WATCHDOG))
        .seen(machine.evidence(WATCHDOG_CPUMASK))
        .so(format!("An NMI each {seconds} s of busy cycles, which nothing can mask, and one performance counter less."))
        .command(super::soft_watchdog::elsewhere(machine))
        .command("sysctl -w kernel.nmi_watchdog=0");
    vec![finding]
}
