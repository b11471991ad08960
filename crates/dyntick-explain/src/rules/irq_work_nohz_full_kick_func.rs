// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "irq-work:nohz_full_kick_func",
    title: "nohz_full kick: tick dependencies rechecked, no change",
    explanation: "When a tick dependency of a nohz_full CPU is set, or a timer is queued on it, the CPU is \
        interrupted, by itself or by another CPU, because the tick is started or stopped only at the end of \
        an interrupt. Here the dependency was cleared by then, or nothing changed. From 7.3 on the \
        function itself checks the tick where it runs in the context of a task.",
    fixes: &[],
    versions: Versions::ALL,
    source: "kernel/time/tick-sched.c: tick_nohz_full_kick, tick_nohz_full_kick_cpu; kernel/sched/core.c: wake_up_full_nohz_cpu",
    names_origin: true,
};
