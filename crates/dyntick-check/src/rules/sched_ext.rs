// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "sched-ext",
    title: "A BPF scheduler (sched_ext) decides whether nohz_full CPUs keep their tick",
    severity: Severity::Note,
    reads: &[SCHED_EXT, SCHED_EXT_OPS, NOHZ_FULL],
    source: "kernel/sched/ext.c: scx_can_stop_tick",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let hit = machine.of_target(&machine.nohz_full);
    if machine.text(SCHED_EXT) != Some("enabled") || hit.is_empty() {
        return Vec::new();
    }
    let finding = RULE
        .note("a BPF scheduler is loaded (sched_ext)")
        .on(&hit)
        .seen(machine.evidence(SCHED_EXT))
        .seen(machine.evidence(SCHED_EXT_OPS))
        .so("A task of its own keeps the tick even alone, unless the scheduler gave it a slice without end \
             (SCX_SLICE_INF).")
        .advice("end it, use one that gives such slices on these CPUs, or run what must be quiet under SCHED_FIFO");
    vec![finding]
}
