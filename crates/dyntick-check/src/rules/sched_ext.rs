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
        .so("A task of this scheduler keeps the tick even if it is the only one, unless it was given an \
             infinite slice (SCX_SLICE_INF).")
        .advice("stop it, use one that gives such slices on these CPUs, or run the isolated tasks under SCHED_FIFO");
    vec![finding]
}
