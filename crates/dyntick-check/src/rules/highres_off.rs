// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "highres-off",
    title: "High-resolution timers are off: timers expire only at ticks",
    severity: Severity::Warning,
    reads: &[CMDLINE],
    source: "kernel/time/hrtimer.c: setup_hrtimer_hres, hrtimer_run_queues",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(said) = machine.said("highres") else { return Vec::new() };
    if machine.line.get("highres").and_then(boolean) != Some(false) {
        return Vec::new();
    }
    let parameter = said.value.clone();
    let finding = RULE
        .warning(format!("'{parameter}' turns high-resolution timers off"))
        .seen([said])
        .so("Each sleep and timeout ends at a tick, up to one tick late.");
    vec![finding.unboot(parameter)]
}
