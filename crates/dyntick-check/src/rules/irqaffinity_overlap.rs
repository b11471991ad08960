// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "irqaffinity-overlap",
    title: "irqaffinity= includes an isolated CPU",
    severity: Severity::Warning,
    reads: &[CMDLINE],
    source: "kernel/irq/irqdesc.c: irq_affinity_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let list = machine.line.get("irqaffinity").and_then(|list| machine.reader().list(list).ok());
    let hit = machine.of_target(&list.unwrap_or_default());
    if hit.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .warning(format!("irqaffinity= names the isolated {}", cpus(&hit)))
        .on(&hit)
        .seen(machine.said("irqaffinity"))
        .so("It is the default affinity of device interrupts.");
    vec![device_irqs::but_managed(booted(finding, machine, &hit), machine)]
}

/// Adds boot parameters, if they keep interrupts away from these CPUs. `irqaffinity=` always includes the boot CPU.
pub(super) fn booted(finding: Finding, machine: &Machine<'_>, hit: &CpuList) -> Finding {
    let boot_cpu = CpuList::first(1);
    let finding = if hit.is_subset(&boot_cpu) {
        finding
    } else {
        finding.composed(machine.composed(&interrupts(machine)))
    };
    if hit.contains(0) {
        finding.advice(
            "no parameter keeps interrupts off the boot CPU, which the kernel always adds to irqaffinity=: \
             only a write to /proc/irq/default_smp_affinity does, after each boot",
        )
    } else {
        finding
    }
}
