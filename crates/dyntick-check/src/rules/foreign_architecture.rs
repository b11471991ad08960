// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::Architecture;
use dyntick_model::parameters::{self, Values};

pub(super) static RULE: Rule = Rule {
    id: "foreign-architecture",
    title: "A parameter that only another architecture or processor has",
    severity: Severity::Note,
    reads: &[CMDLINE, CPUINFO, CLOCKSOURCE],
    source: "Documentation/admin-guide/kernel-parameters.txt; arch/x86/kernel/process.c: idle_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let (foreign, why): (Vec<&str>, String) = match machine.dialect.architecture {
        Some(own) => {
            let elsewhere = machine.line.iter().filter(|word| is_foreign(machine, word)).collect();
            (elsewhere, format!("no effect on {}", own.name()))
        }
        None => return Vec::new(),
    };
    let vendor: Vec<&str> = machine.line.iter().filter(|word| is_of_other_vendor(machine, word)).collect();
    [(foreign, why), (vendor, "no effect with this processor".to_owned())]
        .into_iter()
        .filter(|(words, _)| !words.is_empty())
        .map(|(words, why)| {
            let verb = if words.len() == 1 { "has" } else { "have" };
            let finding = RULE
                .note(format!("{} {verb} {why}", in_order(words.clone(), usize::MAX)))
                .seen(words.iter().map(|word| said(word)))
                .so("The kernel ignores it.");
            words.into_iter().fold(finding, Finding::unboot)
        })
        .collect()
}

/// Returns true if only another architecture has the parameter, or all of its values.
pub(super) fn is_foreign(machine: &Machine<'_>, word: &str) -> bool {
    let (Some(own), (name, value)) =
        (machine.dialect.architecture, word.split_once('=').unwrap_or((word, "")))
    else {
        return false;
    };
    let Some(parameter) = parameters::known(name) else { return false };
    // arm64 has HOTPLUG_SMT since 6.17.
    if name == "nosmt" {
        return own != Architecture::X86 && !machine.since(6, 17);
    }
    let elsewhere = dyntick_model::Dialect { architecture: None, ..machine.dialect };
    let only_there = matches!(parameter.values, Values::Words(_))
        && parameter.values.knows(value, elsewhere)
        && !parameter.values.knows(value, machine.dialect);
    parameter.only.is_some_and(|only| only != own) || only_there
}

/// Returns true if the parameter belongs to a driver for processors of another vendor.
fn is_of_other_vendor(machine: &Machine<'_>, word: &str) -> bool {
    let name = word.split(['=', '.']).next().unwrap_or_default();
    match machine.vendor() {
        Some("AuthenticAMD" | "HygonGenuine") => ["intel_idle", "intel_pstate"].contains(&name),
        Some("GenuineIntel") => name == "amd_pstate",
        _ => false,
    }
}
