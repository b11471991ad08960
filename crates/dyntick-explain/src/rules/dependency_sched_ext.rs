// SPDX-License-Identifier: GPL-2.0-only
use super::dependency_deadline::alone_in;
use super::{Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Class};

pub(super) static RULE: Rule = Rule {
    id: "dependency-sched-ext",
    title: "sched_ext: the BPF scheduler gave the task a finite time slice",
    explanation: "Under sched_ext the tick is kept also for a single task, unless the BPF scheduler gave it \
        an infinite slice (SCX_SLICE_INF). While the scheduler is bypassed (for example when it is loaded or \
        unloaded, or a CPU is hot-plugged) the tick is always kept.",
    fixes: &[
        RuleFix::advice(
            "end the BPF scheduler (/sys/kernel/sched_ext/root/ops names it), or use one that gives \
                SCX_SLICE_INF to tasks that are alone",
            "Without a BPF scheduler the tasks are normal tasks again, and a single one does not need the \
                tick.",
        ),
        RuleFix::advice(
            "run the task under SCHED_FIFO (chrt --fifo)",
            "The BPF scheduler no longer schedules it; a task that never sleeps starves all others on the \
                CPU.",
        ),
    ],
    versions: Versions::since(6, 12),
    source: "kernel/sched/ext.c (7.x: kernel/sched/ext/ext.c): scx_can_stop_tick; kernel/sched/core.c: \
        sched_can_stop_tick",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    Finding::new(CauseId::of(&RULE), alone_in(case, Class::Ext)?)
}
