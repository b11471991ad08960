// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::Flag;

pub(super) static RULE: Rule = Rule {
    id: "managed-irq-missing",
    title: "isolcpus= without managed_irq",
    severity: Severity::Note,
    reads: &[CMDLINE],
    source: "kernel/irq/manage.c: irq_do_set_affinity; kernel/irq/cpuhotplug.c: hk_should_isolate",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let hit = machine.of_target(&machine.asked.domain).difference(&machine.asked.managed_irq);
    // Before 5.6 the flag invalidates the complete parameter.
    if hit.is_empty() || !machine.patched.is_empty() || !machine.dialect.knows(Flag::ManagedIrq) {
        return Vec::new();
    }
    let finding = RULE
        .note(format!("managed interrupts may go to {}", cpus(&hit)))
        .on(&hit)
        .seen(machine.said("isolcpus"))
        .so("Drivers with a queue per CPU (NVMe, many network cards) use managed interrupts, whose affinity \
             the kernel sets and user space cannot change; with the flag they prefer housekeeping CPUs.")
        .composed(machine.composed(&managed_irq(&hit)));
    vec![finding]
}
