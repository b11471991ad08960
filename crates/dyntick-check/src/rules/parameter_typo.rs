// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use strsim::damerau_levenshtein;

pub(super) static RULE: Rule = Rule {
    id: "parameter-typo",
    title: "A parameter that looks like a misspelt isolation parameter",
    severity: Severity::Error,
    reads: &[CMDLINE, KERNEL_LOG],
    source: "Documentation/admin-guide/kernel-parameters.txt; init/main.c: print_unknown_bootoptions",
    find,
};

/// The parameters that this program knows about. All of at least five letters: shorter ones are too
/// near to too many words.
const KNOWN: &[&str] = &[
    "nohz_full",
    "isolcpus",
    "rcu_nocbs",
    "rcu_nocb_poll",
    "irqaffinity",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "clocksource",
    "skew_tick",
    "nosoftlockup",
    "nowatchdog",
    "nmi_watchdog",
    "transparent_hugepage",
    "threadirqs",
    "mitigations",
    "intel_pstate",
    "amd_pstate",
    "highres",
    "cpuidle.off",
    "cpuidle.governor",
    "cpufreq.default_governor",
    "rcutree.enable_rcu_lazy",
    "rcutree.nohz_full_patience_delay",
    "rcupdate.rcu_normal_after_boot",
    "workqueue.power_efficient",
    "workqueue.unbound_cpus",
    "numa_balancing",
    "preempt",
];

/// Real parameters that are near to one of those (all that `kernel-parameters.txt` of 6.1 and 6.12 has).
const NEIGHBOURS: &[&str] = &["watchdog", "highmem"];

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    /// Nobody misspells more; what to boot with is composed anew for each.
    const MOST: usize = 20;
    machine.line.iter().filter_map(|parameter| typo(machine, parameter)).take(MOST).collect()
}

fn typo(machine: &Machine<'_>, parameter: &str) -> Option<Finding> {
    let (written, value) =
        parameter.split_once('=').map_or((parameter, None), |(name, value)| (name, Some(value)));
    let name = written.replace('-', "_");
    if KNOWN.contains(&name.as_str()) || NEIGHBOURS.contains(&name.as_str()) {
        return None;
    }
    let meant = KNOWN.iter().copied().min_by_key(|known| damerau_levenshtein(known, &name))?;
    let allowed = if meant.len() < 8 { 1 } else { 2 };
    if damerau_levenshtein(meant, &name) > allowed {
        return None;
    }
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
        true => finding.composed(machine.composed(&asks(machine, &fixed))).unboot(parameter),
        false => finding.boot(fixed),
    })
}

/// Those that are composed with what the line says already; a list for `irqaffinity=` takes no such union.
fn isolates(name: &str) -> bool {
    boot::is_composed(name) && name != "irqaffinity"
}
