// SPDX-License-Identifier: GPL-2.0-only
use super::load_balanced::{self, ONE_CPU};
use super::*;
use dyntick_model::Masks;
use dyntick_model::parameters::{self, Meant, meant};

pub(super) static RULE: Rule = Rule {
    id: "parameter-typo",
    title: "A parameter that does not exist: misspelt, a sysctl, or a name that no kernel has",
    severity: Severity::Error,
    reads: &[CMDLINE, KERNEL_LOG],
    source: "Documentation/admin-guide/kernel-parameters.txt; init/main.c: print_unknown_bootoptions",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    /// The limit of findings; for each, a new command line is composed.
    const MOST: usize = 20;
    machine.line.iter().filter_map(|parameter| typo(machine, parameter)).take(MOST).collect()
}

fn typo(machine: &Machine<'_>, parameter: &str) -> Option<Finding> {
    let (written, value) =
        parameter.split_once('=').map_or((parameter, None), |(name, value)| (name, Some(value)));
    let meant = meant(written)?;
    let can_be_listed = parameters::is_listed_if_unknown(written);
    let unknown = machine.unknown_parameters().filter(|_| can_be_listed);
    // Since 5.14 the kernel lists the parameters that it does not know. One that is not listed is known to it.
    let would_be_listed = can_be_listed && machine.since(5, 14) && machine.log_reaches_boot();
    if would_be_listed && !machine.lists_as_unknown(written) {
        return None;
    }
    let log = unknown.map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() });
    let severity = match (meant, &log) {
        (Meant::Words(_), _) if can_be_listed => Severity::Note,
        (_, Some(_)) => Severity::Error,
        (_, None) => Severity::Warning,
    };
    let finding = RULE
        .finding(severity, format!("'{parameter}' is not a kernel parameter: {meant}"))
        .seen(log)
        .seen([said(parameter)])
        .so("It has no effect.");
    Some(match meant {
        Meant::Parameter(name) => {
            let fixed = value.map_or(name.to_owned(), |value| format!("{name}={value}"));
            as_meant(finding, machine, name, &fixed).unboot(parameter)
        }
        Meant::Sysctl(name) => finding.unboot(parameter).advice(format!(
            "set it at run time if it is wanted: sysctl -w {name}={}, and in /etc/sysctl.d for each boot",
            value.unwrap_or("VALUE")
        )),
        Meant::Words(_) => finding.unboot(parameter),
    })
}

/// Suggests the intended parameter, if this kernel has it.
fn as_meant(finding: Finding, machine: &Machine<'_>, name: &str, fixed: &str) -> Finding {
    let option = parameters::option_of(fixed);
    if option.is_some_and(|option| machine.has(option) == Some(false)) {
        return finding;
    }
    if !isolates(name) {
        return finding.boot(fixed);
    }
    if let Some(keeper) = load_balanced::keeper(machine).filter(|_| name == "isolcpus") {
        let way = load_balanced::way_of(&keeper);
        return finding.seen([keeper]).so(format!("It has no effect, and '{fixed}' {ONE_CPU}: {way}."));
    }
    // Other redundant parameters are no matter of spelling, and have their own rule. Where all lists must be equal
    // (before 5.18), one that is left would contradict the intended one.
    // So would one that is refused for an earlier one, once that stands behind it.
    let is_void = |word: &String| {
        machine.asked.outcomes.iter().any(|(parameter, outcome)| {
            parameter == word && matches!(outcome, Outcome::Empty | Outcome::NoneLeft)
        })
    };
    let must_be_equal = machine.dialect.masks() == Masks::One;
    let meant = machine.not_followed(asks(machine, fixed));
    if meant == nothing() {
        return finding;
    }
    let composed = machine.composed(&meant);
    finding.composed(composed.map(|mut composed| {
        // So would a flag of isolcpus= beside nohz_full= with other CPUs.
        let contradicts = |word: &str| {
            boot::has_nohz_flag(&CommandLine::parse(word))
                && composed.with.iter().any(|with| with.starts_with("nohz_full="))
        };
        composed.without.retain(|word| must_be_equal || is_void(word) || contradicts(word));
        composed
    }))
}

/// Returns true for parameters that are merged with the line's present lists; `irqaffinity=` is not.
fn isolates(name: &str) -> bool {
    boot::is_composed(name) && name != "irqaffinity"
}
