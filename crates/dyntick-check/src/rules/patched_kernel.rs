// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "patched-kernel",
    title: "The kernel follows a parameter that no upstream kernel of its version would follow",
    severity: Severity::Note,
    reads: &[CMDLINE, ISOLATED, NOHZ_FULL],
    source: "kernel/sched/isolation.c: housekeeping_isolcpus_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let parameters = &machine.patched;
    if parameters.is_empty() {
        return Vec::new();
    }
    let quoted: Vec<String> = parameters.iter().map(|parameter| quoted_flag(parameter)).collect();
    let finding = RULE
        .note(format!(
            "this kernel is patched, and follows parameters that are not upstream: {}; isolated {}, nohz_full {}",
            in_order(quoted.iter().map(String::as_str).collect(), usize::MAX),
            machine.isolated,
            machine.nohz_full
        ))
        .seen(parameters.iter().map(|parameter| said(parameter)))
        .seen(machine.evidence(ISOLATED))
        .seen(machine.evidence(NOHZ_FULL))
        .so("The kernel was changed. What it lists in /sys holds; no command line is composed for it.")
        .advice("nothing is to be done if that is what its vendor documents");
    vec![finding]
}

/// The word of a parameter that upstream does not know.
fn quoted_flag(parameter: &str) -> String {
    let value = parameter.split_once('=').map_or("", |(_, value)| value);
    let (flags, _) = dyntick_model::isolation::flags_and_list(value);
    match flags.into_iter().find(|word| dyntick_model::Flag::of(word).is_none()) {
        Some(word) => format!("the flag '{word}' of '{parameter}'"),
        None => format!("'{parameter}'"),
    }
}
