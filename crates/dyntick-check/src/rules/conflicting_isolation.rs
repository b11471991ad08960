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
        RULE.error(format!("'{parameter}' is ignored as a whole: an earlier parameter names other CPUs"))
            .seen(machine.line.iter().filter(|word| isolates(word)).map(said))
            .so("The CPUs without a tick must be the same wherever they are named; the kernel keeps the first \
                 and drops the rest, whatever else stands in it.")
            .advice("name the CPUs of the tick in nohz_full= alone, and leave the flag nohz out of isolcpus=")
    };
    ignored.map(told).collect()
}

fn isolates(parameter: &str) -> bool {
    ["nohz_full", "isolcpus"].contains(&parameter.split('=').next().unwrap_or_default().replace('-', "_").as_str())
}
