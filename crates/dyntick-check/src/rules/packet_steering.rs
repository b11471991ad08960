// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "packet-steering",
    title: "Receive packet steering (RPS) sends packets to isolated CPUs",
    severity: Severity::Warning,
    reads: &[RPS_CPUS, RPS_DEFAULT],
    source: "net/core/dev.c: get_rps_cpu, rps_trigger_softirq; net/core/net-sysfs.c: store_rps_map",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let named = |mask: &str| machine.of_target(&CpuList::from_mask(mask).unwrap_or_default());
    let queues: Vec<(&str, CpuList)> =
        machine.matching(RPS_CPUS).map(|(path, mask)| (path, named(mask))).collect();
    let queues: Vec<(&str, CpuList)> = queues.into_iter().filter(|(_, hit)| !hit.is_empty()).collect();
    let default = named(machine.text(RPS_DEFAULT).unwrap_or_default());
    let hit = queues.iter().fold(default.clone(), |sum, (_, hit)| sum.union(hit));
    if hit.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .warning(format!("RPS sends packets that other CPUs receive to {}", cpus(&hit)))
        .on(&hit)
        .seen(queues.iter().filter_map(|(path, _)| machine.evidence(path)))
        .seen(machine.evidence(RPS_DEFAULT).filter(|_| !default.is_empty()))
        .so("Each batch interrupts the CPU and runs the network stack there, whichever CPU the card interrupts.");
    let commands = queues.iter().map(|(path, _)| *path).chain((!default.is_empty()).then_some(RPS_DEFAULT));
    vec![commands.fold(finding, |finding, file| without(finding, machine, file, &hit))]
}

/// Adds a write of the mask without these CPUs; an empty mask turns RPS off.
fn without(finding: Finding, machine: &Machine<'_>, file: &str, hit: &CpuList) -> Finding {
    let mask = machine.text(file).and_then(|mask| CpuList::from_mask(mask).ok()).unwrap_or_default();
    match shell::path(file) {
        Ok(file) => finding.command(format!("echo {} > {file}", mask.difference(hit).to_mask())),
        Err(why) => finding.advice(format!("remove them from the mask ({why}, so no command is given)")),
    }
}
