// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "bad-cpu-list",
    title: "rcu_nocbs= or irqaffinity= with a CPU list that the kernel cannot parse",
    severity: Severity::Error,
    reads: &[CMDLINE, POSSIBLE],
    source: "kernel/rcu/tree_nocb.h: rcu_nocb_setup; kernel/irq/irqdesc.c: irq_affinity_setup",
    find,
};

const EFFECTS: [(&str, &str); 2] = [
    ("rcu_nocbs", "The kernel then offloads the callbacks of all CPUs."),
    ("irqaffinity", "The kernel keeps the CPUs before the error, and adds the boot CPU."),
];

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    EFFECTS.iter().filter_map(|(name, effect)| judged(machine, name, effect)).collect()
}

fn judged(machine: &Machine<'_>, name: &str, effect: &str) -> Option<Finding> {
    let value = machine.line.get(name).filter(|value| !value.is_empty() && *value != "all")?;
    let outcome = machine.reader().list(value).err()?;
    let why = match &outcome {
        Outcome::Beyond(beyond) => format!("{} not possible on this machine", cpus_are(beyond)),
        Outcome::NoList(error) => error.to_string(),
        _ => return None,
    };
    let finding = RULE
        .error(format!("'{name}={value}' is not a valid CPU list: {why}"))
        .seen(machine.said(name))
        .seen(machine.evidence(POSSIBLE))
        .so(effect);
    let list = machine.corrected(name, value).and_then(|list| machine.reader().list(&list).ok());
    Some(match (name, list) {
        // Interrupts go to the CPUs that are not isolated.
        ("irqaffinity", _) => finding.composed(machine.composed(&interrupts(machine))),
        (_, Some(list)) => finding.composed(machine.composed(&callbacks(&list.union(&machine.isolated)))),
        // Only the user knows which callbacks were meant.
        (_, None) => finding
            .advice(format!("boot with {name}=LIST, with CPUs of {}", CpuList::first(machine.possible))),
    })
}
