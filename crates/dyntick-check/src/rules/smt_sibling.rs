// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::machine::NoLine;
use dyntick_model::boot::Composed;

pub(super) static RULE: Rule = Rule {
    id: "smt-sibling",
    title: "An isolated CPU shares its core with a housekeeping CPU",
    severity: Severity::Warning,
    reads: &[SIBLINGS],
    source: "drivers/base/topology.c: thread_siblings_list",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let shares = |cpu: u32| {
        let (file, text) = machine.of_cpu(SIBLINGS, cpu);
        let siblings: CpuList = text?.parse().ok()?;
        let others = siblings.intersection(&machine.housekeeping());
        (!others.is_empty()).then_some((cpu, file, others))
    };
    let found: Vec<(u32, String, CpuList)> = machine.target.iter().filter_map(shares).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let hit: CpuList = found.iter().map(|(cpu, _, _)| *cpu).collect();
    let others = found.iter().fold(CpuList::default(), |sum, (_, _, others)| sum.union(others));
    let finding = RULE
        .warning(match hit.len() {
            1 => format!("{} shares its core with {}, used for housekeeping", cpus(&hit), cpus(&others)),
            _ => format!("{} share cores with {}, used for housekeeping", cpus(&hit), cpus(&others)),
        })
        .on(&hit)
        .seen(found.iter().filter_map(|(_, file, _)| machine.evidence(file)))
        .so(
            "SMT siblings compete for the execution units and caches of their core: run times vary with the \
             load of the sibling.",
        );
    let finding = match whole_cores(machine) {
        Some(instead) => finding.composed(in_place(machine, &instead)).advice(format!(
            "isolate complete cores at run time, without a reboot: dyntick isolate -C {instead} -- COMMAND"
        )),
        None => finding,
    };
    vec![finding.advice(
        "boot with nosmt, and isolate only CPUs that then remain: the first of each thread_siblings_list. Do \
         not take a housekeeping sibling offline unless a complete housekeeping core remains",
    )]
}

/// The CPUs in whole cores that stand for those that are judged: first the cores that are wholly judged, then those
/// that hold a judged CPU, up to as many CPUs. No other core is taken: it may be slower, or of another cache or node.
/// The boot CPU's core is left, and does the housekeeping.
fn whole_cores(machine: &Machine<'_>) -> Option<CpuList> {
    let mut cores: Vec<CpuList> = machine.target.iter().filter_map(|cpu| core(machine, cpu)).collect();
    cores.sort();
    cores.dedup();
    let free = cores.iter().filter(|core| !core.contains(0));
    let (whole, other): (Vec<&CpuList>, Vec<&CpuList>) =
        free.partition(|core| core.is_subset(&machine.target));
    let mut chosen = CpuList::default();
    for core in whole.into_iter().chain(other) {
        if chosen.len() >= machine.target.len() {
            break;
        }
        chosen = chosen.union(core);
    }
    (!chosen.is_empty() && !machine.online.is_subset(&chosen)).then_some(chosen)
}

fn core(machine: &Machine<'_>, cpu: u32) -> Option<CpuList> {
    machine.of_cpu(SIBLINGS, cpu).1?.parse::<CpuList>().ok().map(|core| core.intersection(&machine.online))
}

/// The parameters with these CPUs for each use that the judged ones have now.
fn in_place(machine: &Machine<'_>, instead: &CpuList) -> Result<Composed, NoLine> {
    let now = machine.wanted();
    let moved = |cpus: &CpuList| {
        let judged = !cpus.intersection(&machine.target).is_empty();
        if judged { cpus.difference(&machine.target).union(instead) } else { cpus.clone() }
    };
    let wanted = Wanted {
        tick: moved(&now.tick),
        domain: moved(&now.domain),
        managed_irq: moved(&now.managed_irq),
        ..now
    };
    machine.composed_of(&machine.with_callbacks(&machine.line, moved), &wanted)
}
