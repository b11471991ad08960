// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::Irq;
use dyntick_model::Flag;

pub(super) static RULE: Rule = Rule {
    id: "device-irqs",
    title: "Device interrupts are handled on an isolated CPU",
    severity: Severity::Warning,
    reads: &[IRQ_AFFINITY, IRQ_EFFECTIVE, IRQ_ACTIONS, IRQ_DEFAULT, INTERRUPTS, ISOLATED, NOHZ_FULL],
    source: "kernel/irq/manage.c: irq_do_set_affinity; kernel/irq/proc.c: write_irq_affinity",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // An interrupt whose affinity was already changed moves at its next occurrence (`irq_move_masked_irq`).
    let stays = |irq: &&Irq| {
        !machine.of_target(&irq.effective).is_empty() && !machine.of_target(&irq.affinity).is_empty()
    };
    let (put, left): (Vec<&Irq>, Vec<&Irq>) =
        machine.irqs.iter().filter(stays).partition(|irq| was_put(machine, irq));
    [disturbing(machine, left), wanted(machine, &put)].into_iter().flatten().collect()
}

/// Reports the interrupts that a driver, the default or irqbalance has placed there.
fn disturbing(machine: &Machine<'_>, mut here: Vec<&Irq>) -> Option<Finding> {
    if here.is_empty() {
        return None;
    }
    let hit = here.iter().fold(CpuList::default(), |sum, irq| sum.union(&machine.of_target(&irq.effective)));
    let count = |number: u32| machine.interrupts(&number.to_string(), &machine.target);
    // The most frequent ones first.
    here.sort_by_key(|irq| (std::cmp::Reverse(count(irq.number)), irq.number));
    let total: u64 = here.iter().map(|irq| count(irq.number)).fold(0, u64::saturating_add);
    // Even if none has occurred yet, one may.
    let severity = if total > 0 { Severity::Warning } else { Severity::Note };
    let who = described(machine, &here);
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
    let finding = moved(finding, machine, |rest| command(&here, rest));
    let balanced = hit.difference(&super::irqbalance::spared(machine));
    let finding = if machine.runs("irqbalance").is_some() && !balanced.is_empty() {
        finding.advice(format!(
            "irqbalance moves interrupts back, because it does not spare {} (irqbalance): change that first",
            cpus(&balanced)
        ))
    } else {
        finding
    };
    let refusal = if machine.since(6, 12) { "Operation not permitted" } else { "Input/output error" };
    let managed = away(machine).map_or(String::new(), |away| {
        format!("Managed interrupts (IRQD_AFFINITY_MANAGED in /sys/kernel/debug/irq/irqs/N) {away}. ")
    });
    Some(finding.advice(format!(
        "if the write fails ({refusal}), the kernel does not move the interrupt. {managed}Per-CPU \
         interrupts, those with IRQF_NOBALANCING and those whose irq_chip cannot set an affinity cannot be \
         moved"
    )))
}

/// The words about managed interrupts, which no write moves; `None` if they are kept away already.
fn away(machine: &Machine<'_>) -> Option<String> {
    let kept = machine.wanted().managed_irq;
    if machine.target.is_subset(&kept) {
        return None;
    }
    // Older kernels drop the complete isolcpus= for this flag, unless they backported it, as a line with it shows.
    if !machine.dialect.knows(Flag::ManagedIrq) && kept.is_empty() {
        return Some("stay: no parameter of this kernel keeps them away".to_owned());
    }
    let composed = machine.composed(&managed_irq(&machine.target));
    let boot = composed.map_or(String::new(), |composed| format!(": boot with {composed}"));
    Some(format!("are kept away by managed_irq{boot}"))
}

/// Adds that managed interrupts follow neither the default affinity nor irqbalance (`kernel/irq/manage.c:
/// irq_setup_affinity`; `kernel/irq/proc.c: write_irq_affinity`).
pub(super) fn but_managed(finding: Finding, machine: &Machine<'_>) -> Finding {
    match away(machine) {
        Some(away) => finding.advice(format!(
            "managed interrupts (a queue per CPU: NVMe, virtio, mlx5) do not follow this; they {away}"
        )),
        None => finding,
    }
}

/// Reports the interrupts that were placed there on purpose, e.g. for the device of a control loop.
fn wanted(machine: &Machine<'_>, put: &[&Irq]) -> Option<Finding> {
    if put.is_empty() {
        return None;
    }
    let hit = put.iter().fold(CpuList::default(), |sum, irq| sum.union(&machine.of_target(&irq.effective)));
    let who = described(machine, put);
    let rest = machine.housekeeping();
    let finding = RULE
        .naming(Severity::Note, |most| {
            let who = in_order(who.iter().map(String::as_str).collect(), most);
            format!("{} set to {} alone: IRQ {who}", plural(put.len()), cpus(&hit))
        })
        .on(&hit)
        .seen(put.iter().filter_map(|irq| machine.evidence(&irq.file)))
        .seen(machine.evidence(IRQ_DEFAULT))
        .so("Other interrupts are kept off these CPUs, so these were put there on purpose, as for the device of a \
             control loop. Each one interrupts the running task.");
    Some(if rest.is_empty() {
        finding.advice("leave it, if the task there needs the device")
    } else {
        finding.advice(format!("if that was not the aim: {}", command(put, &rest)))
    })
}

fn command(irqs: &[&Irq], rest: &CpuList) -> String {
    let numbers: Vec<String> = irqs.iter().map(|irq| irq.number.to_string()).collect();
    format!("for i in {}; do echo {rest} > /proc/irq/$i/smp_affinity_list; done", numbers.join(" "))
}

/// Formats as `36 ttyAMA0 (×9184)`.
fn described(machine: &Machine<'_>, irqs: &[&Irq]) -> Vec<String> {
    let came = |number: u32| match machine.interrupts(&number.to_string(), &machine.target) {
        0 => String::new(),
        times => format!(" (×{times})"),
    };
    irqs.iter().map(|irq| format!("{} {}{}", irq.number, irq.actions, came(irq.number))).collect()
}

/// Returns true if an interrupt's affinity names only isolated CPUs, while the default or the others stay outside, and
/// it does not belong to a driver's queues, which are spread over more CPUs.
fn was_put(machine: &Machine<'_>, irq: &Irq) -> bool {
    let isolated = machine.isolated.union(&machine.nohz_full);
    let outside = |cpus: &CpuList| cpus.intersection(&isolated).is_empty();
    let default = machine.text(IRQ_DEFAULT).and_then(|mask| CpuList::from_mask(mask).ok());
    let others = || machine.irqs.iter().any(|other| outside(&other.affinity));
    let spread =
        |other: &&Irq| !other.affinity.is_subset(&isolated) && are_queues(&irq.actions, &other.actions);
    let balanced =
        machine.runs("irqbalance").is_some() && !irq.affinity.is_subset(&super::irqbalance::spared(machine));
    irq.affinity.is_subset(&isolated)
        && (default.is_some_and(|default| outside(&default)) || others())
        && !balanced
        && !machine.irqs.iter().any(|other| spread(&other))
}

/// Returns true if two names are queues of one device: `nvme0q1` and `nvme0q2`, `mlx5_comp1@pci:0000:3b:00.0` and
/// `mlx5_comp2@pci:0000:3b:00.0`, but not `eth0` and `eth1`.
fn are_queues(one: &str, other: &str) -> bool {
    let ((one, place), (other, other_place)) =
        (one.split_once('@').unwrap_or((one, "")), other.split_once('@').unwrap_or((other, "")));
    let (one, other) = (runs(one), runs(other));
    let number = |run: &&&str| run.starts_with(|c: char| c.is_ascii_digit());
    let first = one.iter().position(|run| number(&run));
    let differ: Vec<usize> = (0..one.len().min(other.len())).filter(|at| one[*at] != other[*at]).collect();
    let by_number = |at: &usize| number(&&one[*at]) && number(&&other[*at]) && Some(*at) != first;
    place == other_place && one.len() == other.len() && differ.len() < 2 && differ.iter().all(by_number)
}

/// Splits a name into runs of digits and of other characters.
fn runs(name: &str) -> Vec<&str> {
    name.as_bytes()
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
        .filter_map(|run| std::str::from_utf8(run).ok())
        .collect()
}

fn plural(count: usize) -> String {
    format!("{count} device interrupt{}", if count == 1 { "" } else { "s" })
}
