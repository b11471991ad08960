// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "skew-tick",
    title: "The ticks of many CPUs coincide",
    severity: Severity::Note,
    reads: &[CMDLINE, ONLINE, NOHZ_FULL],
    source: "kernel/time/tick-sched.c: tick_setup_sched_timer (sched_skew_tick)",
    find,
};

/// The number of ticking CPUs from which on a note is worthwhile; an estimate.
const MANY: usize = 16;

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let ticking = machine.online.difference(&machine.nohz_full);
    if machine.target.is_empty() || ticking.len() < MANY || machine.line.get("skew_tick").is_some() {
        return Vec::new();
    }
    let finding = RULE
        .note(format!("the ticks of {} CPUs coincide", ticking.len()))
        .seen(machine.evidence(ONLINE))
        .seen(machine.evidence(NOHZ_FULL))
        .so("Busy CPUs then contend for the same locks at each tick, which delays them. Skewed ticks avoid \
             that, but idle CPUs of one package are then less often asleep at the same time.")
        .boot("skew_tick=1");
    vec![finding]
}
