// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "conflicting-isolation",
    title: "nohz_full= and isolcpus=nohz, name different CPUs, so the second one is ignored",
    severity: Severity::Error,
    reads: &[CMDLINE],
    source: "kernel/sched/isolation.c: housekeeping_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let ignored = machine.asked.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Mismatch);
    let told = |(parameter, _): &(String, Outcome)| {
        RULE.error(format!("'{parameter}' is ignored completely: an earlier parameter names other CPUs"))
            .seen(machine.line.iter().filter(|word| isolates(word)).map(said))
            .so(
                "The CPUs without a tick must be the same in both parameters; the kernel keeps the first and \
                 drops each later one, with all its flags.",
            )
            .advice(
                "list the CPUs without a tick in nohz_full= only, and leave the flag nohz out of isolcpus=",
            )
    };
    ignored.map(told).collect()
}

fn isolates(parameter: &str) -> bool {
    ["nohz_full", "isolcpus"]
        .contains(&parameter.split('=').next().unwrap_or_default().replace('-', "_").as_str())
}
