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
    let told = |(name, effect): &(&str, &str)| {
        let value = machine.line.get(name).filter(|value| !value.is_empty())?;
        let why = match isolation::parse(value, machine.possible).err()? {
            Outcome::Beyond(beyond) => format!("{} not possible on this machine", cpus_are(&beyond)),
            Outcome::NoList(error) => error.to_string(),
            _ => return None,
        };
        let finding = RULE
            .error(format!("'{name}={value}' is not a valid CPU list: {why}"))
            .seen(machine.said(name))
            .seen(machine.evidence(POSSIBLE))
            .so(*effect);
        // Which callbacks were meant only the user knows; interrupts go where nothing is isolated.
        Some(match *name {
            "irqaffinity" => finding.composed(machine.composed(&interrupts(machine))),
            _ => finding
                .advice(format!("boot with {name}=LIST, with CPUs of {}", CpuList::first(machine.possible))),
        })
    };
    EFFECTS.iter().filter_map(told).collect()
}
