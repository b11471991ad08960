// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-interrupts-off",
    title: "The timer interrupt came late while a task ran",
    explanation: "No event tells why: the task had interrupts off in the kernel, or the CPU was taken from \
        the kernel by firmware (SMI) or by a hypervisor.",
    fixes: &[
        Fix {
            setting: Setting::Program("look for it with trace-cmd record -p irqsoff sleep 10"),
            effect: "Names the kernel function that has interrupts off for longest (CONFIG_IRQSOFF_TRACER).",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("measure again with --smi"),
            effect: "Counts system management interrupts.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: hrtimer_interrupt",
    names_origin: false,
    detect: None,
};
