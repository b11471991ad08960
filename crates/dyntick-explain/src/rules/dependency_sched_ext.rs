// SPDX-License-Identifier: GPL-2.0-only
use super::dependency_deadline::alone_in;
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Class};

pub(super) static RULE: Rule = Rule {
    id: "dependency-sched-ext",
    title: "A BPF scheduler (sched_ext) gave the task a slice, which the tick ends",
    explanation: "Under sched_ext the tick is kept also for a single task, unless the BPF scheduler gave it a slice \
        without end (SCX_SLICE_INF). While the scheduler is bypassed (as when it is loaded or unloaded, or a CPU is \
        hot-plugged) it is kept always.",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "end the BPF scheduler (/sys/kernel/sched_ext/root/ops names it), or use one that gives SCX_SLICE_INF to tasks that are alone",
            ),
            effect: "Without one the tasks are ordinary again, and a single one does without the tick.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("run the task under SCHED_FIFO (chrt --fifo)"),
            effect: "It is no longer the BPF scheduler's; one that never sleeps starves all others there.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::since(6, 12),
    source: "kernel/sched/ext.c: scx_can_stop_tick; kernel/sched/core.c: sched_can_stop_tick",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let chain = alone_in(case, Class::Ext, "sched_ext")?;
    Finding::new(CauseId::class("dependency-sched-ext"), chain)
}
