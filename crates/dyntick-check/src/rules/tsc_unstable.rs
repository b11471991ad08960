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

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let parameter = (machine.line.get("tsc") == Some("unstable")).then(|| machine.said("tsc")).flatten();
    let log = machine.logged("Marking TSC unstable").next();
    let log = log.map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() });
    if parameter.is_none() && log.is_none() {
        return Vec::new();
    }
    // sched/clock.c sets the dependency, and says so, only where the clock was trusted before: at run time.
    let keeps_ticks = machine.logged("TSC found unstable after boot").next().is_some();
    let (severity, effect) = match !machine.nohz_full.is_empty() && keeps_ticks {
        true => (
            Severity::Error,
            "sched_clock() became unstable at run time, which keeps the tick of every nohz_full CPU (dependency CLOCK_UNSTABLE).",
        ),
        false => (
            Severity::Warning,
            "Time is read from a slower clocksource, with a system call. If sched_clock() becomes unstable \
            only after boot, no nohz_full CPU stops its tick.",
        ),
    };
    let message = match &parameter {
        Some(said) => format!("'{}' marks the TSC unstable", said.value),
        None => "the kernel has found the TSC unstable".to_owned(),
    };
    let finding = RULE.finding(severity, message).on(&machine.nohz_full);
    let by_hand = parameter.is_some();
    let finding = finding.seen(parameter).seen(log).seen(machine.evidence(CLOCKSOURCE)).so(effect);
    vec![match by_hand {
        true => finding.unboot("tsc=unstable"),
        false => finding.advice(
            "update the firmware; only if the TSC is known to be reliable: boot with tsc=nowatchdog or \
             tsc=reliable",
        ),
    }]
}
