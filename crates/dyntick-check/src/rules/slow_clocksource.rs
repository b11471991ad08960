// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "slow-clocksource",
    title: "A slow clocksource: reading the time takes a system call",
    severity: Severity::Warning,
    reads: &[CLOCKSOURCE, CLOCKSOURCES, KERNEL_LOG],
    source: "arch/x86/kernel/hpet.c, drivers/clocksource/acpi_pm.c, hyperv_timer.c: ratings and vdso_clock_mode",
    find,
};

/// The clocksources that the vDSO cannot read.
const SLOW: [&str; 6] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "hyperv_clocksource_msr"];

/// The clocksources that the vDSO can read, the best first.
const FAST: [&str; 2] = ["tsc", "hyperv_clocksource_tsc_page"];

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(name) = machine.text(CLOCKSOURCE).filter(|name| SLOW.contains(name)) else { return Vec::new() };
    let finding = RULE
        .warning(format!("the clocksource is {name}"))
        .seen(machine.evidence(CLOCKSOURCE))
        .seen(machine.evidence(CLOCKSOURCES))
        .seen(machine.said("clocksource"))
        .so(if name.starts_with("hyperv") {
            "clock_gettime() becomes a system call that leaves the guest: the hypervisor reads the clock."
        } else {
            "clock_gettime() becomes a system call that reads a device, for which all CPUs contend."
        });
    let offered: Vec<&str> =
        machine.text(CLOCKSOURCES).unwrap_or_default().split_ascii_whitespace().collect();
    // The kernel refuses a clock that it found unstable (`kernel/time/clocksource.c: clocksource_mark_unstable`).
    let logged = ["Marking TSC unstable", "TSC found unstable", "Marking clocksource"];
    let is_unstable = logged.into_iter().any(|text| machine.logged(text).next().is_some());
    if is_unstable {
        return vec![finding.advice("see tsc-unstable: the kernel found the TSC unstable, and refuses it")];
    }
    vec![match FAST.iter().find(|fast| offered.contains(*fast)) {
        Some(fast) => finding.command(format!("echo {fast} > {CLOCKSOURCE}")),
        None => finding.advice(
            "dmesg | grep -i -e tsc -e clocksource shows why the TSC is not an available clocksource",
        ),
    }]
}
