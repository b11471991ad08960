// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "max-cstate",
    title: "A C-state limit that the idle driver in use ignores",
    severity: Severity::Warning,
    reads: &[CMDLINE, IDLE_DRIVER, CPUINFO],
    source: "drivers/idle/intel_idle.c: intel_idle_init; drivers/acpi/processor_idle.c: max_cstate",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let driver = machine.text(IDLE_DRIVER).unwrap_or_default();
    let intel = machine.line.get("intel_idle.max_cstate");
    let acpi = machine.line.get("processor.max_cstate");
    let finding = match (driver, intel, acpi) {
        ("acpi_idle", Some("0"), None) if machine.vendor() != Some("AuthenticAMD") => RULE
            .warning("'intel_idle.max_cstate=0' only selects acpi_idle, which has deep states too")
            .seen(machine.said("intel_idle.max_cstate"))
            .so("CPUs still enter the deepest C-states that the firmware allows.")
            .advice("boot with intel_idle.max_cstate=1 instead, or add processor.max_cstate=1"),
        ("intel_idle", None, Some(limit)) => RULE
            .warning(format!("'processor.max_cstate={limit}' does nothing: intel_idle is in use"))
            .seen(machine.said("processor.max_cstate"))
            .so("intel_idle has its own limit.")
            .advice(
                "boot with intel_idle.max_cstate=ROW, usually another number: processor.max_cstate= counts \
                 ACPI C-state types, intel_idle.max_cstate= the rows of the driver's table, such as C1, C1E, \
                 C6. grep . /sys/devices/system/cpu/cpu0/cpuidle/state*/name lists them, with POLL as 0",
            ),
        _ => return Vec::new(),
    };
    vec![finding.seen(machine.evidence(IDLE_DRIVER))]
}
