// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "irqaffinity-overlap",
    title: "irqaffinity= sends interrupts to an isolated CPU",
    severity: Severity::Warning,
    reads: &[CMDLINE],
    source: "kernel/irq/irqdesc.c: irq_affinity_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let list = machine.line.get("irqaffinity").and_then(|list| isolation::parse(list, machine.possible).ok());
    let hit = machine.of_target(&list.unwrap_or_default());
    if hit.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .warning(format!("irqaffinity= names the isolated {}", cpus(&hit)))
        .on(&hit)
        .seen(machine.said("irqaffinity"))
        .so("Interrupts of devices are set up to go there.")
        .composed(machine.composed(&interrupts(machine)));
    vec![finding]
}
