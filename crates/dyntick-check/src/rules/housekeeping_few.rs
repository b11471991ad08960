// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "housekeeping-few",
    title: "Few housekeeping CPUs for many isolated ones",
    severity: Severity::Note,
    reads: &[ONLINE, NOHZ_FULL, ISOLATED],
    source: "kernel/rcu/tree_nocb.h, kernel/sched/core.c: sched_tick_remote, kernel/time/timer_migration.c",
    find,
};

/// The number of isolated CPUs per housekeeping CPU from which on a note is worthwhile; an estimate.
const MANY: usize = 16;

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let housekeeping = machine.housekeeping();
    if housekeeping.is_empty() || machine.named || machine.target.len() < MANY * housekeeping.len().max(1) {
        return Vec::new();
    }
    let finding = RULE
        .note(format!(
            "{} the housekeeping for {} isolated CPUs",
            if housekeeping.len() == 1 {
                format!("{} does", cpus(&housekeeping))
            } else {
                format!("{} do", cpus(&housekeeping))
            },
            machine.target.len()
        ))
        .seen(machine.evidence(ONLINE))
        .seen(machine.evidence(NOHZ_FULL))
        .so("It runs their RCU callbacks, timers, unbound work and remote ticks; if it is overloaded, grace \
             periods take longer and RCU asks the isolated CPUs for quiescent states.")
        .advice("use at least one housekeeping CPU per NUMA node");
    vec![finding]
}
