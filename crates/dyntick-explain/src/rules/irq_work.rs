// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::facts::Call;
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "irq-work",
    title: "irq_work (self-IPI for deferred work)",
    explanation: "Code that may not do something in its current context (in an NMI, or with locks held) \
        queues an irq_work, and the CPU sends itself an IPI to run it. The function shows what it was for.",
    fixes: &[RuleFix::advice(
        "find out what queues the irq_work: the chain names the task and the kernel function",
        "Without a queued irq_work there is no interrupt.",
    )],
    source: "kernel/irq_work.c: irq_work_queue, irq_work_run",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let kicked = *case.kind == Kind::FunctionCall && case.facts.is_kick();
    let applies = *case.kind == Kind::IrqWork || kicked;
    let Call { function, by } = case.facts.irq_works.first().filter(|_| applies)?;
    let queued = by.as_ref().map(|by| Step::QueuedIrqWork {
        by: (&by.origin).into(),
        function: function.clone(),
        callsite: by.callsite.clone(),
    });
    let ran = Step::RanIrqWork { function: function.clone(), cpu: case.cpu(), kicked };
    Finding::new(CauseId::member(&RULE, function.clone()), queued.into_iter().chain([ran]))
}

/// The members of this class that have their own rule.
pub(super) static MEMBERS: &[Rule] = &[
    Rule {
        id: "irq-work:nohz_full_kick_func",
        title: "nohz_full kick: tick dependencies rechecked, no change",
        explanation: "When a tick dependency of a nohz_full CPU is set, or a timer is queued on it, the CPU \
            is interrupted, by itself or by another CPU, because the tick is started or stopped only at the \
            end of an interrupt. Here the dependency was cleared by then, or nothing changed. From 7.3 on \
            the function itself checks the tick if it runs in the context of a task.",
        source: "kernel/time/tick-sched.c: tick_nohz_full_kick, tick_nohz_full_kick_cpu; \
            kernel/sched/core.c: wake_up_full_nohz_cpu",
        ..Rule::DEFAULT
    },
    Rule {
        id: "irq-work:perf_pending_irq",
        title: "perf: deferred wake-up of the reader",
        explanation: "A sample was taken in a context that may not wake a task (in an NMI, a timer or the \
            scheduler), so the CPU sends itself an IPI to wake the process that reads the samples.",
        fixes: &[
            RuleFix::advice("stop the profiler, or exclude this CPU from it", "No sample, no interrupt."),
            RuleFix::advice(
                "wake the reader less often (attr.watermark with a large wakeup_watermark)",
                "One interrupt for many samples.",
            ),
        ],
        source: "kernel/events/core.c: __perf_event_overflow, perf_pending_irq",
        ..Rule::DEFAULT
    },
    Rule {
        id: "irq-work:wake_up_klogd_work_func",
        title: "printk on this CPU: deferred wake-up of log readers",
        explanation: "Code that ran on this CPU called printk. Readers of the kernel log (journald, dmesg \
            -w) are woken by an IPI that the CPU sends itself, or in its next tick if the tick runs.",
        fixes: &[RuleFix::advice(
            "fix the source of the messages; dmesg shows them",
            "No message, no interrupt. Call dmesg once, not with --follow: a waiting reader is one more to \
                wake.",
        )],
        source: "kernel/printk/printk.c: __wake_up_klogd, wake_up_klogd_work_func; kernel/irq_work.c: \
            __irq_work_queue_local",
        ..Rule::DEFAULT
    },
];
