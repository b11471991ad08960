// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "tsc-unstable",
    title: "The TSC is marked unstable",
    severity: Severity::Error,
    reads: &[CMDLINE, KERNEL_LOG, CLOCKSOURCE],
    source: "arch/x86/kernel/tsc.c: mark_tsc_unstable; kernel/sched/clock.c: __clear_sched_clock_stable",
    find,
};

/// The lines of the kernel's log that show it; the first ones give the reason.
const LINES: &[&str] = &[
    "Marking TSC unstable",
    "Marking clocksource",
    "marking tsc unstable",
    "TSC warp",
    "TSC found unstable after boot",
    "sched_clock: Marking unstable",
];

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let by_hand = machine.line.iter().find(|word| ["tsc=unstable", "notsc"].contains(word));
    let logged: Vec<&str> = LINES.iter().flat_map(|text| machine.logged(text)).collect();
    // The watchdog judges other clocks, too.
    let logged: Vec<&str> = logged
        .into_iter()
        .filter(|line| line.contains("TSC") || line.contains("tsc") || late(line))
        .collect();
    if by_hand.is_none() && logged.is_empty() {
        return Vec::new();
    }
    // sched/clock.c sets the dependency, and logs it, only if the clock was trusted before: at run time.
    let keeps_ticks = !machine.nohz_full.is_empty() && logged.iter().any(|line| late(line));
    let trusted = machine.line.iter().find(|word| TRUSTED.contains(word));
    let message = match by_hand {
        Some(word) => format!("'{word}' marks the TSC unstable"),
        None if keeps_ticks => {
            format!(
                "the TSC became unstable at run time, which keeps the tick of {}",
                cpus(&machine.nohz_full)
            )
        }
        None => "the kernel has found the TSC unstable".to_owned(),
    };
    let message = match trusted.filter(|_| by_hand.is_none()) {
        Some(word) => format!("{message}, although '{word}' is on the line"),
        None => message,
    };
    let (severity, effect) = if keeps_ticks {
        (
            Severity::Error,
            "sched_clock() became unstable after the boot, which sets the dependency CLOCK_UNSTABLE for all CPUs until \
             the next one. Time is read from a slower clocksource, with a system call.",
        )
    } else {
        (Severity::Warning, "Time is read from a slower clocksource, with a system call.")
    };
    let log = logged.iter().map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: (*line).to_owned() });
    let finding = RULE
        .finding(severity, message)
        .on(&machine.nohz_full)
        .seen(by_hand.map(said))
        .seen(log)
        .seen(trusted.map(said))
        .seen(machine.evidence(CLOCKSOURCE))
        .so(effect);
    vec![match by_hand {
        Some(word) => finding.unboot(word),
        None => {
            let finding = fixed(finding, machine, &logged, trusted);
            if keeps_ticks {
                finding.advice(
                    "until then: boot with tsc=unstable, so that nothing trusts the counter first. Time is read as \
                     slowly as now, but ticks stop",
                )
            } else {
                finding
            }
        }
    }]
}

/// The parameters that exempt the TSC from the watchdog.
const TRUSTED: &[&str] = &["tsc=reliable", "tsc=nowatchdog"];

/// Returns true if the kernel logs it although it trusted the clock until then.
fn late(line: &str) -> bool {
    line.contains("TSC found unstable after boot") || line.contains("sched_clock: Marking unstable")
}

fn fixed(finding: Finding, machine: &Machine<'_>, logged: &[&str], trusted: Option<&str>) -> Finding {
    let has = |texts: &[&str]| logged.iter().any(|line| texts.iter().any(|text| line.contains(text)));
    let early = trusted.is_some() && !machine.since(5, 4);
    let finding = if early && has(&["clocksource watchdog", "'tsc-early'"]) {
        finding.advice("before 5.4 the kernel watches the TSC while it boots, whatever tsc= says")
    } else {
        finding
    };
    if machine.is_guest() || has(&["Hyper-V"]) {
        return finding.advice(
            "it is for the hypervisor: the guest needs an invariant TSC that it neither stops nor changes (scaled where \
             guests move between machines), and CPUs of the host for itself",
        );
    }
    // Neither the firmware nor a parameter makes such counters equal.
    if has(&["TSC warp", "check_tsc_sync_source", "unsynchronized", "inter CPU skew"]) {
        return finding.advice(
            "update the firmware: it has to start the counters of all CPUs together, and not to write them later. No \
             parameter helps: with tsc=reliable the time would differ between CPUs",
        );
    }
    if !has(&["watchdog", "Marking clocksource", "marking tsc unstable"]) {
        return finding.advice("update the firmware; without an invariant TSC there is no other way");
    }
    match trusted {
        Some(_) => finding.advice("update the firmware"),
        None => finding.advice(
            "update the firmware; only if the TSC is known to be reliable, and the clock that it was compared with is not: \
             boot with tsc=nowatchdog or tsc=reliable",
        ),
    }
}
