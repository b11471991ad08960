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

/// From these lines of the kernel's log it follows; the first ones say why.
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
    let told: Vec<&str> = LINES.iter().flat_map(|text| machine.logged(text)).collect();
    // Other clocks are judged by the watchdog, too.
    let told: Vec<&str> =
        told.into_iter().filter(|line| line.contains("TSC") || line.contains("tsc") || late(line)).collect();
    if by_hand.is_none() && told.is_empty() {
        return Vec::new();
    }
    // sched/clock.c sets the dependency, and says so, only where the clock was trusted before: at run time.
    let keeps_ticks = !machine.nohz_full.is_empty() && told.iter().any(|line| late(line));
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
    let (severity, effect) = match keeps_ticks {
        true => (
            Severity::Error,
            "sched_clock() became unstable after the boot, which sets the dependency CLOCK_UNSTABLE for all CPUs until \
             the next one. Time is read from a slower clocksource, with a system call.",
        ),
        false => (Severity::Warning, "Time is read from a slower clocksource, with a system call."),
    };
    let log = told.iter().map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: (*line).to_owned() });
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
            let finding = fixed(finding, machine, &told, trusted);
            match keeps_ticks {
                true => finding.advice(
                    "until then: boot with tsc=unstable, so that nothing trusts the counter first. Time is read as \
                     slowly as now, but ticks stop",
                ),
                false => finding,
            }
        }
    }]
}

/// Parameters by which the TSC is not watched.
const TRUSTED: &[&str] = &["tsc=reliable", "tsc=nowatchdog"];

/// If the kernel says so where the clock was trusted until then.
fn late(line: &str) -> bool {
    line.contains("TSC found unstable after boot") || line.contains("sched_clock: Marking unstable")
}

fn fixed(finding: Finding, machine: &Machine<'_>, told: &[&str], trusted: Option<&str>) -> Finding {
    let has = |texts: &[&str]| told.iter().any(|line| texts.iter().any(|text| line.contains(text)));
    let early = trusted.is_some() && !machine.since(5, 4);
    let finding = match early && has(&["clocksource watchdog", "'tsc-early'"]) {
        true => finding.advice("before 5.4 the kernel watches the TSC while it boots, whatever tsc= says"),
        false => finding,
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
