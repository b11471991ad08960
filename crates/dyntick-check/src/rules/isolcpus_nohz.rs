// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "isolcpus-nohz",
    title: "isolcpus=nohz, only stops the tick before 6.14, and keeps nothing else away",
    severity: Severity::Warning,
    reads: &[CMDLINE, NOHZ_FULL],
    source: "kernel/sched/isolation.c: housekeeping_isolcpus_setup, housekeeping_nohz_full_setup (HK_FLAG_TICK alone; \
             1174b9344bc7)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let hit = machine
        .of_target(&machine.nohz_full)
        .intersection(&machine.asked.tick.difference(&machine.asked.noise));
    if hit.is_empty() || machine.since(6, 14) {
        return Vec::new();
    }
    let finding = RULE
        .warning(format!("{} in adaptive-tick mode by isolcpus=nohz only", cpus_are(&hit)))
        .on(&hit)
        .seen(machine.said("isolcpus"))
        .seen(machine.evidence(NOHZ_FULL))
        .so("Before 6.14 this flag only stops the tick. Timers, unbound work, kernel threads and the \
             watchdogs are not kept away, as nohz_full= does.");
    vec![finding.composed(machine.composed_apart(&nothing()))]
}
