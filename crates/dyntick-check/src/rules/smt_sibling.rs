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
    if all_cpus_isolated::is_undecided(machine) {
        return Vec::new();
    }
    let found: Vec<SharedCore> = machine.target.iter().filter_map(|cpu| shared_core(machine, cpu)).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let hit: CpuList = found.iter().map(|shared| shared.cpu).collect();
    let others = found.iter().fold(CpuList::default(), |sum, shared| sum.union(&shared.others));
    let finding = RULE
        .warning(match hit.len() {
            1 => format!("{} shares its core with {}, used for housekeeping", cpus(&hit), cpus(&others)),
            _ => format!("{} share cores with {}, used for housekeeping", cpus(&hit), cpus(&others)),
        })
        .on(&hit)
        .seen(found.iter().filter_map(|shared| machine.evidence(&shared.file)))
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

/// An isolated CPU, the file with its siblings, and the housekeeping CPUs among them.
struct SharedCore {
    cpu: u32,
    file: String,
    others: CpuList,
}

fn shared_core(machine: &Machine<'_>, cpu: u32) -> Option<SharedCore> {
    let (file, text) = machine.of_cpu(SIBLINGS, cpu);
    let siblings: CpuList = text?.parse().ok()?;
    let others = siblings.intersection(&machine.housekeeping());
    (!others.is_empty()).then_some(SharedCore { cpu, file, others })
}

/// The complete cores that can replace the judged CPUs: first the cores that are judged completely, then those that
/// contain a judged CPU, up to the same number of CPUs. No other core is used: it may be slower, or belong to another
/// cache or node. The boot CPU's core is left for housekeeping.
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

/// The parameters with these CPUs for each present use of the judged ones.
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
