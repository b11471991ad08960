// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-preemption-off",
    title: "Preemption disabled: a lower-priority task kept the CPU",
    explanation: "The thread was woken, but the task that had the CPU was in a section with preemption \
        disabled, or the kernel has only few preemption points.",
    fixes: &[
        RuleFix {
            action: Fix::Boot("preempt=full"),
            effect: not_tried!(
                "The kernel can be preempted almost everywhere (kernels with CONFIG_PREEMPT_DYNAMIC)."
            ),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("apt install linux-image-rt-amd64"),
            effect: not_tried!("A PREEMPT_RT kernel, in which almost nothing disables preemption."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("taskset -pc {housekeeping} {task}"),
            effect: not_tried!("Moves the task away."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: preempt_schedule",
    names_origin: true,
};
