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
    let variable = variable(machine);
    let spared = spared(machine);
    let hit = machine.target.difference(&spared);
    if hit.is_empty() {
        return Vec::new();
    }
    let all = machine.target.union(&booted(machine)).union(&machine.isolated).union(&spared);
    // The older variable would still count.
    let older = variable.as_ref().is_some_and(|variable| variable.line.starts_with(BANNED_CPUS));
    let drop = if older { format!(", remove {BANNED_CPUS},") } else { String::new() };
    let message = match &variable {
        Some(variable) => {
            let cpus = if variable.cpus.is_empty() { "no CPU".to_owned() } else { cpus(&variable.cpus) };
            format!(": {} spares {cpus}, whatever the kernel isolates", variable.line)
        }
        None => String::new(),
    };
    let finding = RULE
        .warning(format!("irqbalance runs and may move interrupts to {}{message}", cpus(&hit)))
        .on(&hit)
        .seen([Evidence { file: task.file.clone(), value: "irqbalance".to_owned() }])
        .seen(machine.evidence(ISOLATED))
        .seen(
            variable
                .map(|variable| Evidence { file: variable.file.to_owned(), value: variable.line.to_owned() }),
        )
        .so("It excludes the CPUs of isolcpus= and nohz_full= as they were when it started or, if its \
             variable is set, only the CPUs listed there.");
    let finding = finding.advice(format!(
        "set IRQBALANCE_BANNED_CPULIST={all} in {IRQBALANCE} ({IRQBALANCE_RH} on Red Hat systems){drop} and \
         restart it: list all of them, because once it is set irqbalance ignores which CPUs the kernel isolates"
    ));
    vec![device_irqs::but_managed(finding, machine)]
}

const BANNED_CPUS: &str = "IRQBALANCE_BANNED_CPUS";

/// The CPUs to which irqbalance moves no interrupt.
pub(super) fn spared(machine: &Machine<'_>) -> CpuList {
    // The variable replaces the kernel's isolation (`setup_banned_cpus`).
    variable(machine).map_or_else(|| booted(machine), |variable| variable.cpus)
}

/// The CPUs that it spares without a variable.
fn booted(machine: &Machine<'_>) -> CpuList {
    machine.cpus(ISOLATED).unwrap_or_default().union(&machine.nohz_full)
}

/// The variable that names the CPUs to spare.
struct Banned<'a> {
    file: &'static str,
    line: &'a str,
    cpus: CpuList,
}

fn variable<'a>(machine: &Machine<'a>) -> Option<Banned<'a>> {
    [IRQBALANCE, IRQBALANCE_RH].into_iter().find_map(|file| banned(file, machine.text(file)?))
}

/// Reads the older variable first. An empty one counts as unset (since 1.7).
fn banned<'a>(file: &'static str, text: &'a str) -> Option<Banned<'a>> {
    // The last line of a variable wins.
    let set = |name: &str| {
        let value = |line: &'a str| Some((line, line.strip_prefix(name)?.strip_prefix('=')?));
        let (line, value) = text.lines().rev().find_map(value)?;
        Some((line, value.trim().trim_matches(['"', '\'']))).filter(|(_, value)| !value.is_empty())
    };
    if let Some((line, mask)) = set(BANNED_CPUS) {
        return Some(Banned { file, line, cpus: CpuList::from_mask(mask).unwrap_or_default() });
    }
    let (line, list) = set("IRQBALANCE_BANNED_CPULIST")?;
    Some(Banned { file, line, cpus: leading(list) })
}

/// The CPUs of a list up to its first error: irqbalance ignores the result of its parser
/// (`bitmap.c: __bitmap_parselist`, in which an empty part is CPU 0).
fn leading(list: &str) -> CpuList {
    let part = |part: &str| {
        let part = part.trim();
        let plain = part.chars().all(|c| c.is_ascii_digit() || c == '-');
        if part.is_empty() { Some(CpuList::first(1)) } else { part.parse().ok().filter(|_| plain) }
    };
    list.split(',').map_while(part).fold(CpuList::default(), |sum, cpus| sum.union(&cpus))
}
