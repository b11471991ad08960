// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "device-irqs",
    title: "Device interrupts are handled on an isolated CPU",
    severity: Severity::Warning,
    reads: &[IRQ_AFFINITY, IRQ_EFFECTIVE, IRQ_ACTIONS, INTERRUPTS],
    source: "kernel/irq/manage.c: irq_do_set_affinity; kernel/irq/proc.c: write_irq_affinity",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // One that was moved away already goes with its next interrupt (`irq_move_masked_irq`).
    let stays = |irq: &&crate::Irq| {
        !machine.of_target(&irq.effective).is_empty() && !machine.of_target(&irq.affinity).is_empty()
    };
    let mut here: Vec<_> = machine.irqs.iter().filter(stays).collect();
    if here.is_empty() {
        return Vec::new();
    }
    let hit = here.iter().fold(CpuList::default(), |sum, irq| sum.union(&machine.of_target(&irq.effective)));
    let count = |number: u32| machine.interrupts(&number.to_string(), &machine.target);
    // Those that matter first.
    here.sort_by_key(|irq| (std::cmp::Reverse(count(irq.number)), irq.number));
    let total: u64 = here.iter().map(|irq| count(irq.number)).fold(0, u64::saturating_add);
    // Where none came so far, one still may.
    let severity = if total > 0 { Severity::Warning } else { Severity::Note };
    let came = |number: u32| match count(number) {
        0 => String::new(),
        times => format!(" (×{times})"),
    };
    let who: Vec<String> =
        here.iter().map(|irq| format!("{} {}{}", irq.number, irq.actions, came(irq.number))).collect();
    let numbers: Vec<String> = here.iter().map(|irq| irq.number.to_string()).collect();
    let evidence = here.iter().filter_map(|irq| machine.evidence(&irq.file));
    let finding = RULE
        .naming(severity, |most| {
            let who = in_order(who.iter().map(String::as_str).collect(), most);
            format!("{} handled on {}: IRQ {who}", plural(here.len()), cpus(&hit))
        })
        .on(&hit)
        .seen(evidence)
        .so(format!(
            "Each one interrupts the running task; {} handled {total} since boot.",
            cpus(&machine.target)
        ));
    let command = |rest: &CpuList| {
        format!("for i in {}; do echo {rest} > /proc/irq/$i/smp_affinity_list; done", numbers.join(" "))
    };
    let finding = moved(finding, machine, command);
    let refusal = if machine.since(6, 12) { "Operation not permitted" } else { "Input/output error" };
    let managed = match machine.target.is_subset(&machine.wanted().managed_irq) {
        true => String::new(),
        false => {
            let composed = machine.composed(&managed_irq(&machine.target));
            let boot = composed.map_or(String::new(), |composed| format!(": boot with {composed}"));
            format!(
                "Managed interrupts (IRQD_AFFINITY_MANAGED in /sys/kernel/debug/irq/irqs/N) are kept away by \
                 managed_irq{boot}. "
            )
        }
    };
    vec![finding.advice(format!(
        "if the write fails ({refusal}), the kernel does not move the interrupt. {managed}Per-CPU \
         interrupts, those with IRQF_NOBALANCING and those whose irq_chip cannot set an affinity cannot be \
         moved"
    ))]
}

fn plural(count: usize) -> String {
    format!("{count} device interrupt{}", if count == 1 { "" } else { "s" })
}
