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
    Some(if has_no_user(machine) {
        finding
            .advice(format!("boot without {parameter}, or name the CPUs that are for one pinned task each"))
    } else {
        finding.composed(machine.composed(&nothing()))
    })
}

/// Returns true if a parameter names every CPU and no task shows why: none is pinned to these CPUs, and they are load
/// balanced. First of all this is to be decided.
pub(super) fn is_undecided(machine: &Machine<'_>) -> bool {
    let mut outcomes = machine.asked.outcomes.iter().map(|(_, outcome)| outcome);
    outcomes.any(|outcome| matches!(outcome, Outcome::AllCpus | Outcome::AllStarted | Outcome::BootCpu))
        && has_no_user(machine)
}

fn has_no_user(machine: &Machine<'_>) -> bool {
    let wanted = machine.wanted();
    wanted.domain.is_empty() && machine.pinned(&wanted.tick).next().is_none()
}

const HOUSEKEEPING: &str = "One CPU must do the timekeeping and the housekeeping for the others.";
