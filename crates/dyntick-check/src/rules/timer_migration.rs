// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "timer-migration",
    title: "Timers stay on the isolated CPU that started them",
    severity: Severity::Warning,
    reads: &[TIMER_MIGRATION],
    source: "kernel/time/hrtimer.c: get_target_base; kernel/time/timer.c: get_target_base (6.1)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if machine.text(TIMER_MIGRATION) != Some("0") || machine.target.is_empty() {
        return Vec::new();
    }
    // 6.9 brought the hierarchy, which takes wheel timers from idle CPUs whatever this says.
    let which = if machine.since(6, 9) { "hrtimers" } else { "hrtimers and timers of the wheel" };
    let finding = RULE
        .warning("timers are not moved to housekeeping CPUs")
        .on(&machine.target)
        .seen(machine.evidence(TIMER_MIGRATION))
        .so(format!("Unpinned {which} started on an isolated CPU interrupt it when they expire."))
        .command("sysctl -w kernel.timer_migration=1");
    vec![finding]
}
