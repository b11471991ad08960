// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "housekeeping-few",
    title: "One housekeeping CPU for many isolated ones",
    severity: Severity::Note,
    reads: &[ONLINE, NOHZ_FULL, ISOLATED],
    source: "kernel/rcu/tree_nocb.h, kernel/sched/core.c: sched_tick_remote, kernel/time/timer_migration.c",
    find,
};

/// Isolated CPUs for one housekeeping CPU from which on it is worth a look; an estimate.
const MANY: usize = 16;

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let housekeeping = machine.housekeeping();
    if machine.named || machine.target.len() < MANY * housekeeping.len().max(1) {
        return Vec::new();
    }
    let finding = RULE
        .note(format!("{} does the housekeeping for {} isolated CPUs", cpus(&housekeeping), machine.target.len()))
        .seen(machine.evidence(ONLINE))
        .seen(machine.evidence(NOHZ_FULL))
        .so("It runs their RCU callbacks, timers, unbound work and remote ticks; where it is overloaded, grace periods \
             grow long and the isolated CPUs are asked for them.")
        .advice("give one housekeeping CPU to each memory node, or more");
    vec![finding]
}
