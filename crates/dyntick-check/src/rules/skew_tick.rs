// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "skew-tick",
    title: "Many CPUs tick at the same moment",
    severity: Severity::Note,
    reads: &[CMDLINE, ONLINE, NOHZ_FULL],
    source: "kernel/time/tick-sched.c: tick_setup_sched_timer (sched_skew_tick)",
    find,
};

/// Ticking CPUs from which on it is worth a look; an estimate.
const MANY: usize = 16;

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let ticking = machine.online.difference(&machine.nohz_full);
    if machine.target.is_empty() || ticking.len() < MANY || machine.line.get("skew_tick").is_some() {
        return Vec::new();
    }
    let finding = RULE
        .note(format!("the ticks of {} CPUs fall together", ticking.len()))
        .seen(machine.evidence(ONLINE))
        .seen(machine.evidence(NOHZ_FULL))
        .so("CPUs that are busy then contend for the same locks at each tick, and are late by it. With their ticks apart \
             they do not, but idle CPUs of one package sleep less often at the same time.")
        .boot("skew_tick=1");
    vec![finding]
}
