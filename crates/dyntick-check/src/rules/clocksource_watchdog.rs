// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "clocksource-watchdog",
    title: "Clocksource watchdog: the TSC is compared with another clocksource on each CPU in turn",
    severity: Severity::Warning,
    reads: &[CLOCKSOURCE, CLOCKSOURCES, CPUINFO, PACKAGE, NODES, CMDLINE],
    source: "kernel/time/clocksource.c: clocksource_watchdog; arch/x86/kernel/tsc.c: check_system_tsc_reliable",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if !watches(machine) || machine.target.is_empty() {
        return Vec::new();
    }
    let seconds = machine.online.len() as f64 / 2.0;
    // Since 7.1 the timer, and the check of the frequency, stay on one CPU.
    let how = if machine.since(7, 1) { "a function call from another CPU" } else { "a timer" };
    let finding = RULE
        .warning("the clocksource watchdog checks isolated CPUs")
        .on(&machine.target)
        .seen(machine.evidence(CLOCKSOURCE))
        .seen(machine.evidence(CLOCKSOURCES))
        .so(format!(
            "{how} interrupts each CPU once every {seconds} s (0.5 s times the number of CPUs).",
            how = capital(how)
        ))
        .advice("if the TSC is known to be reliable: boot with tsc=nowatchdog");
    vec![finding]
}

/// Returns true if the TSC is in use, must be verified, and another clocksource exists to verify it.
fn watches(machine: &Machine<'_>) -> bool {
    let used = machine.text(CLOCKSOURCE) == Some("tsc");
    let others = machine.text(CLOCKSOURCES).unwrap_or_default().split_ascii_whitespace();
    let has_other = others.filter(|name| !name.starts_with("tsc")).count() > 0;
    let trusted = machine.line.iter().any(|word| ["tsc=reliable", "tsc=nowatchdog"].contains(&word));
    let sound = ["constant_tsc", "nonstop_tsc", "tsc_adjust"].iter().all(|flag| machine.cpu_flag(flag));
    let known = machine.text(CPUINFO).is_some();
    known && used && has_other && !trusted && !machine.cpu_flag("tsc_reliable") && !(sound && small(machine))
}

/// Returns true for a machine too small for the watchdog. 6.1 counts memory nodes (at most 2), 6.12 packages (at most
/// 4); between them 4 nodes are allowed, to avoid a false alarm.
fn small(machine: &Machine<'_>) -> bool {
    if !machine.since(6, 12) {
        let most = if machine.since(6, 2) { 4 } else { 2 };
        return machine.cpus(NODES).is_none_or(|nodes| nodes.len() <= most);
    }
    let mut packages: Vec<&str> = machine.matching(PACKAGE).map(|(_, package)| package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages.len() <= 4
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + rest.as_str())
}
