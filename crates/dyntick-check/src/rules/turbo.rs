// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "turbo",
    title: "Turbo: the frequency of an isolated CPU depends on the other CPUs",
    severity: Severity::Note,
    reads: &[NO_TURBO, BOOST],
    source: "drivers/cpufreq/intel_pstate.c: show_no_turbo; drivers/cpufreq/cpufreq.c: show_boost",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let on = match (machine.text(NO_TURBO), machine.text(BOOST)) {
        (Some("0"), _) => (NO_TURBO, "1"),
        (_, Some("1")) => (BOOST, "0"),
        _ => return Vec::new(),
    };
    if machine.target.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .note("turbo is on")
        .on(&machine.target)
        .seen(machine.evidence(on.0))
        .so("The frequency of a CPU depends on the load and temperature of the others: higher on average, \
             but less constant.")
        .command(format!("echo {} > {}", on.1, on.0));
    vec![finding]
}
