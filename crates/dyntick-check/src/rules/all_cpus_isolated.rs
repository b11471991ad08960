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
    if !machine.patched.is_empty() {
        return Vec::new();
    }
    let outcomes = machine.asked.outcomes.iter();
    outcomes.filter_map(|(parameter, outcome)| taken_out(machine, parameter, outcome)).collect()
}

fn taken_out(machine: &Machine<'_>, parameter: &str, outcome: &Outcome) -> Option<Finding> {
    let (which, why) = match outcome {
        Outcome::AllCpus => ("every CPU", HOUSEKEEPING),
        Outcome::AllStarted => ("every CPU that is started at boot (maxcpus=, nosmp)", HOUSEKEEPING),
        Outcome::BootCpu => (
            "the boot CPU",
            "No other CPU is present yet when this architecture reads the list, and one has to remain.",
        ),
        _ => return None,
    };
    let finding = RULE
        .warning(format!("'{parameter}' names {which}; the kernel excludes the boot CPU"))
        .seen([said(parameter)])
        .seen(machine.evidence(PRESENT))
        .so(why);
    // All CPUs are isolated and no task is pinned: another finding says what to decide first.
    let undecided =
        machine.wanted().domain.is_empty() && machine.pinned(&machine.wanted().tick).next().is_none();
    Some(if undecided {
        finding
            .advice(format!("boot without {parameter}, or name the CPUs that are for one pinned task each"))
    } else {
        finding.composed(machine.composed(&nothing()))
    })
}

const HOUSEKEEPING: &str = "One CPU must do the timekeeping and the housekeeping for the others.";
