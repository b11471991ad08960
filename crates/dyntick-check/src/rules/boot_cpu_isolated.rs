// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "boot-cpu-isolated",
    title: "nohz_full= or isolcpus= names CPU 0, which the kernel keeps for timekeeping",
    severity: Severity::Warning,
    reads: &[CMDLINE, NOHZ_FULL, ISOLATED],
    source: "kernel/time/tick-sched.c: tick_nohz_init",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if machine.asked.domain.contains(0) && machine.isolated.contains(0) && machine.asked.tick.is_empty() {
        return vec![out_of_balancing(machine)];
    }
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

/// The finding for a boot CPU that x86 lets out of load balancing, but out of nothing else.
fn out_of_balancing(machine: &Machine<'_>) -> Finding {
    RULE.note("CPU 0 is isolated, but keeps the work of the machine that only it does")
        .on(&CpuList::first(1))
        .seen(machine.said("isolcpus"))
        .seen(machine.evidence(ISOLATED))
        .so("Timekeeping, unbound timers and work, and interrupts that have no other CPU stay on the boot CPU.")
        .advice("isolate other CPUs than CPU 0, and move the tasks that are pinned to it")
}
