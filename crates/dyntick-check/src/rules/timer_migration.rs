// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "timer-migration",
    title: "Timers stay on the isolated CPU that started them",
    severity: Severity::Note,
    reads: &[TIMER_MIGRATION],
    source: "kernel/time/hrtimer.c: get_target_base; kernel/time/timer.c: get_target_base (6.1)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // On other CPUs a busy CPU keeps its timers anyway (`get_nohz_timer_target`).
    let hit = machine.of_target(&machine.nohz_full);
    if machine.text(TIMER_MIGRATION) != Some("0") || hit.is_empty() {
        return Vec::new();
    }
    // 6.9 introduced the hierarchy, which takes wheel timers from idle CPUs whatever the setting.
    let which = if machine.since(6, 9) { "hrtimers" } else { "hrtimers and timer-wheel timers" };
    let finding = RULE
        .note(format!("timers started on {} expire there", cpus(&hit)))
        .on(&hit)
        .seen(machine.evidence(TIMER_MIGRATION))
        .so(format!(
            "Unpinned {which} interrupt the CPU that started them. A task that sleeps for a fixed time is \
             woken sooner that way; for a task that must not be interrupted, timers are better on a \
             housekeeping CPU."
        ))
        .command("sysctl -w kernel.timer_migration=1");
    vec![finding]
}
