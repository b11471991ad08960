// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-preemption-off",
    title: "A task ran on in the kernel though the woken thread goes before it",
    explanation: "The thread was woken, but the task that had the CPU was in a section that may not be \
        preempted, or the kernel preempts at few places only.",
    fixes: &[
        Fix {
            setting: Setting::Boot("preempt=full"),
            effect: not_tried!(
                "The kernel may be preempted almost everywhere (kernels with CONFIG_PREEMPT_DYNAMIC)."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Command("apt install linux-image-rt-amd64"),
            effect: not_tried!("A PREEMPT_RT kernel, in which almost nothing forbids preemption."),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Command("taskset -pc OTHER-CPUS PID"),
            effect: not_tried!("Moves the task away."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: preempt_schedule",
    names_origin: true,
    detect: None,
};
