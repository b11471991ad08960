// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "turbo",
    title: "The frequency of an isolated CPU depends on what the others do",
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
        .so("How fast a CPU runs depends on the load and heat of the others. Faster on average, less even.")
        .command(format!("echo {} > {}", on.1, on.0));
    vec![finding]
}
