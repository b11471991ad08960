// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "slow-clocksource",
    title: "Time is read from a device and not from the CPU",
    severity: Severity::Warning,
    reads: &[CLOCKSOURCE, CLOCKSOURCES],
    source: "arch/x86/kernel/hpet.c, drivers/clocksource/acpi_pm.c: ratings and vdso_clock_mode",
    find,
};

/// Those that the vDSO cannot read.
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(name) = machine.text(CLOCKSOURCE).filter(|name| SLOW.contains(name)) else { return Vec::new() };
    let finding = RULE
        .warning(format!("the clocksource is {name}"))
        .seen(machine.evidence(CLOCKSOURCE))
        .seen(machine.evidence(CLOCKSOURCES))
        .seen(machine.said("clocksource"))
        .so("clock_gettime() becomes a system call that reads a device; all CPUs wait for one another at it.");
    let has_tsc = machine.text(CLOCKSOURCES).unwrap_or_default().split_ascii_whitespace().any(|other| other == "tsc");
    vec![match has_tsc {
        true => finding.command(format!("echo tsc > {CLOCKSOURCE}")),
        false => finding.advice("dmesg | grep -i -e tsc -e clocksource tells why the TSC is not among the clocks"),
    }]
}
