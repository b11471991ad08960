// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "irq-default",
    title: "The default IRQ affinity includes an isolated CPU",
    severity: Severity::Note,
    reads: &[IRQ_DEFAULT],
    source: "kernel/irq/proc.c: default_affinity_write",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let default =
        machine.text(IRQ_DEFAULT).and_then(|mask| CpuList::from_mask(mask).ok()).unwrap_or_default();
    let hit = machine.of_target(&default);
    let rest = default.intersection(&machine.housekeeping());
    if hit.is_empty() || rest.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .note(format!("interrupts that are requested from now on may go to {}", cpus(&hit)))
        .on(&hit)
        .seen(machine.evidence(IRQ_DEFAULT))
        .so("The interrupts of a driver that is loaded or a device that is plugged in get this affinity.");
    let finding = irqaffinity_overlap::booted(finding, machine, &hit);
    let finding = finding.command(format!("echo {} > {IRQ_DEFAULT}", rest.to_mask()));
    vec![device_irqs::but_managed(finding, machine)]
}
