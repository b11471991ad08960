// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::Masks;

pub(super) static RULE: Rule = Rule {
    id: "conflicting-isolation",
    title: "nohz_full= and isolcpus= name different CPUs where they must be equal, so the second one is ignored",
    severity: Severity::Error,
    reads: &[CMDLINE, KERNEL_LOG],
    source: "kernel/sched/isolation.c: housekeeping_setup (one mask until 5.17; 04d4e665a609)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let ignored = machine.asked.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Mismatch);
    ignored.map(|(parameter, _)| conflict(machine, parameter)).collect()
}

fn conflict(machine: &Machine<'_>, parameter: &str) -> Finding {
    let is_one = machine.dialect.masks() == Masks::One;
    let why = if is_one && machine.asked.all().is_empty() {
        "before 5.18 all lists of nohz_full= and isolcpus= must be equal, and an earlier one is empty"
    } else if is_one {
        "before 5.18 all lists of nohz_full= and isolcpus= must be equal, and an earlier one names other CPUs"
    } else {
        "an earlier parameter names other CPUs"
    };
    let finding = RULE
        .error(format!("'{parameter}' is ignored completely: {why}"))
        .seen(refused_parameter::log_about_isolation(machine))
        .seen(machine.line.iter().filter(|word| isolates(word)).map(said))
        .so(if is_one {
            "This kernel has one mask for all kinds of isolation: it keeps the first list and drops each later \
             one that differs, with all its flags."
        } else {
            "The CPUs without a tick must be the same in both parameters; the kernel keeps the first and drops \
             each later one, with all its flags."
        });
    if !is_one {
        return finding.advice(
            "list the CPUs without a tick in nohz_full= only, and leave the flag nohz out of isolcpus=",
        );
    }
    match machine.composed(&nothing()) {
        Ok(composed) if !machine.asked.all().is_empty() => finding
            .composed(Ok(composed))
            .advice("or name in both the CPUs that are to be isolated, and the same ones"),
        composed => finding.composed(composed),
    }
}

fn isolates(parameter: &str) -> bool {
    ["nohz_full", "isolcpus"]
        .contains(&parameter.split('=').next().unwrap_or_default().replace('-', "_").as_str())
}
