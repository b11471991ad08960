// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "irqbalance",
    title: "irqbalance may move interrupts to an isolated CPU",
    severity: Severity::Warning,
    reads: &[TASK_STAT, TASK_STATUS, ISOLATED, NOHZ_FULL, IRQBALANCE, IRQBALANCE_RH],
    source: "irqbalance, cputree.c: setup_banned_cpus",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(task) = machine.runs("irqbalance") else { return Vec::new() };
    let booted: CpuList = machine.text(ISOLATED).and_then(|list| list.parse().ok()).unwrap_or_default();
    let isolated = booted.union(&machine.nohz_full);
    let told =
        [IRQBALANCE, IRQBALANCE_RH].into_iter().find_map(|file| Some((file, banned(machine.text(file)?)?)));
    // The variable is taken in place of what the kernel isolates (`setup_banned_cpus`).
    let spared = told.as_ref().map_or(&isolated, |(_, cpus)| cpus);
    let hit = machine.target.difference(spared);
    if hit.is_empty() {
        return Vec::new();
    }
    let all = machine.target.union(&isolated).union(&machine.isolated).union(spared);
    let finding = RULE
        .warning(format!("irqbalance runs and may move interrupts to {}", cpus(&hit)))
        .on(&hit)
        .seen([Evidence { file: task.file.clone(), value: "irqbalance".to_owned() }])
        .seen(machine.evidence(ISOLATED))
        .seen(told.as_ref().and_then(|(file, _)| machine.evidence(file)))
        .so("It excludes the CPUs of isolcpus= and nohz_full= as they were when it started or, if its \
             variable is set, only the CPUs listed there.");
    vec![finding.advice(format!(
        "set IRQBALANCE_BANNED_CPULIST={all} in {IRQBALANCE} ({IRQBALANCE_RH} on Red Hat systems), and \
         restart it: list all of them, because once it is set irqbalance ignores which CPUs the kernel \
         isolates"
    ))]
}

/// The CPUs of `IRQBALANCE_BANNED_CPULIST=LIST`, or of the older `IRQBALANCE_BANNED_CPUS=MASK`.
fn banned(text: &str) -> Option<CpuList> {
    text.lines().rev().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        let cpus = match name {
            "IRQBALANCE_BANNED_CPULIST" => value.parse().ok()?,
            "IRQBALANCE_BANNED_CPUS" => CpuList::from_mask(value).ok()?,
            _ => return None,
        };
        Some(cpus).filter(|cpus: &CpuList| !cpus.is_empty())
    })
}
