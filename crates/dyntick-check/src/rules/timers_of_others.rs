// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "timers-of-others",
    title: "An isolated CPU that ticks may run the timers of other CPUs (6.9 to 6.18)",
    severity: Severity::Warning,
    reads: &[ISOLATED, NOHZ_FULL, PARTITION, PARTITION_2, PARTITION_3, TASK_STAT, TASK_STATUS],
    source: "kernel/time/timer_migration.c: tmigr_handle_remote; isolated CPUs are left out since 7dec062cfcf2 (6.19)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let hit = machine.of_target(&machine.isolated).difference(&machine.nohz_full);
    // Another rule explains why requested isolation is not in effect; but the boot CPU keeps its tick whatever the
    // request.
    let boot_cpu = CpuList::first(1);
    let hit = hit.difference(&machine.asked.tick.difference(&boot_cpu));
    if hit.is_empty() || !machine.since(6, 9) || machine.since(6, 19) {
        return Vec::new();
    }
    let task = |wanted: fn(&crate::Task) -> bool| machine.pinned(&hit).any(wanted);
    let (busy, periodic) = (
        task(|task| task.runnable),
        task(|task| !task.runnable && (task.is_realtime() || task.is_deadline())),
    );
    let severity = if busy && !periodic { Severity::Warning } else { Severity::Note };
    let finding = RULE
        .finding(severity, format!("{} may run the timers of other CPUs", cpus(&hit)))
        .on(&hit)
        .seen(machine.evidence(ISOLATED))
        .seen(machine.evidence(NOHZ_FULL))
        .so("Idle CPUs leave their unpinned timers to a CPU of their timer migration group that ticks (the \
             migrator). An isolated CPU that is always busy becomes the migrator, and runs in its ticks the \
             timers of idle housekeeping CPUs. Only nohz_full CPUs are excluded, while their tick is \
             stopped. nohz_full= has its price: each entry into the kernel and each wake-up takes some 300 to 600 \
             instructions more (6.12).");
    vec![if machine.has("NO_HZ_FULL") == Some(false) || hit.is_subset(&boot_cpu) {
        finding
            .advice("run a kernel with CONFIG_NO_HZ_FULL=y and nohz_full=, 6.19 or newer, or one before 6.9")
    } else if severity == Severity::Note {
        finding.advice(format!(
            "leave it for work that sleeps between its periods: such a CPU is seldom the migrator, and nohz_full= makes \
             its wake-ups dearer. For work that stays in user mode: nohz_full={}",
            hit.difference(&boot_cpu)
        ))
    } else {
        finding.composed(machine.composed(&tick(&hit)))
    }]
}
