// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "boot-cpu-isolated",
    title: "nohz_full= names CPU 0, which the kernel keeps for timekeeping",
    severity: Severity::Warning,
    reads: &[CMDLINE, NOHZ_FULL],
    source: "kernel/time/tick-sched.c: tick_nohz_init",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let taken_out = machine.asked.tick.contains(0) && !machine.nohz_full.contains(0);
    if !taken_out {
        return Vec::new();
    }
    let finding = RULE
        .warning("CPU 0 is in nohz_full, but keeps its tick")
        .on(&CpuList::first(1))
        .seen(machine.said("nohz_full").or_else(|| machine.said("isolcpus")))
        .seen(machine.evidence(NOHZ_FULL))
        .so("A kernel that can suspend needs the boot CPU as its timekeeper. Timers and unbound work are kept off \
             CPU 0 nevertheless, so that the other housekeeping CPUs get them.");
    vec![finding.composed(machine.composed(&nothing()))]
}
