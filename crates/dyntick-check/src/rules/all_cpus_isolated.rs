// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "all-cpus-isolated",
    title: "A parameter that leaves no CPU for housekeeping",
    severity: Severity::Warning,
    reads: &[CMDLINE, PRESENT],
    source: "kernel/sched/isolation.c: housekeeping_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let told = |(parameter, outcome): &(String, Outcome)| {
        let which = match outcome {
            Outcome::AllCpus => "every CPU",
            Outcome::AllStarted => "every CPU that is started at boot (maxcpus=, nosmp)",
            _ => return None,
        };
        Some({
            RULE.warning(format!("'{parameter}' names {which}; the kernel excludes the boot CPU"))
                .seen([said(parameter)])
                .seen(machine.evidence(PRESENT))
                .so("One CPU must do the timekeeping and the housekeeping for the others.")
                .composed(machine.composed(&nothing()))
        })
    };
    machine.asked.outcomes.iter().filter_map(told).collect()
}
