// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::boot::Composed;
use dyntick_model::parameters::meant;

pub(super) static RULE: Rule = Rule {
    id: "parameter-typo",
    title: "A parameter that looks like a misspelt isolation parameter",
    severity: Severity::Error,
    reads: &[CMDLINE, KERNEL_LOG],
    source: "Documentation/admin-guide/kernel-parameters.txt; init/main.c: print_unknown_bootoptions",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    /// Nobody misspells more; what to boot with is composed anew for each.
    const MOST: usize = 20;
    machine.line.iter().filter_map(|parameter| typo(machine, parameter)).take(MOST).collect()
}

fn typo(machine: &Machine<'_>, parameter: &str) -> Option<Finding> {
    let (written, value) =
        parameter.split_once('=').map_or((parameter, None), |(name, value)| (name, Some(value)));
    let meant = meant(written)?;
    let unknown = machine.logged("Unknown kernel command line parameters").next();
    // The kernel lists what it does not know; what is not in the list is known to it, or to a module.
    if unknown.is_some_and(|line| !line.contains(parameter)) {
        return None;
    }
    let log = unknown.map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() });
    let severity = if log.is_some() { Severity::Error } else { Severity::Warning };
    let fixed = value.map_or(meant.to_owned(), |value| format!("{meant}={value}"));
    let finding = RULE
        .finding(severity, format!("'{parameter}' is not a kernel parameter: '{meant}' was probably meant"))
        .seen([said(parameter)])
        .seen(log)
        .so("It has no effect.");
    Some(match isolates(meant) {
        true => {
            // What else of the line is needless is not a matter of spelling, and is told by its own rule.
            let composed = machine.composed(&asks(machine, &fixed));
            let alone = composed.map(|composed| Composed { without: Vec::new(), ..composed });
            finding.composed(alone).unboot(parameter)
        }
        false => finding.boot(fixed),
    })
}

/// Those that are composed with what the line says already; a list for `irqaffinity=` takes no such union.
fn isolates(name: &str) -> bool {
    boot::is_composed(name) && name != "irqaffinity"
}
