// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "rt-throttling",
    title: "RT throttling: real-time tasks that never sleep are stopped for a part of each period (before 6.12)",
    severity: Severity::Warning,
    reads: &[RT_RUNTIME, RT_PERIOD],
    source: "kernel/sched/rt.c: update_curr_rt, sched_rt_runtime_exceeded",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let (Some(runtime), Some(period)) = (machine.number(RT_RUNTIME), machine.number(RT_PERIOD)) else {
        return Vec::new();
    };
    // 6.12 has the fair server instead, and throttles groups only.
    if machine.since(6, 12) || runtime < 0 || runtime >= period || machine.target.is_empty() {
        return Vec::new();
    }
    let severity = if machine.is_rt() { Severity::Warning } else { Severity::Note };
    let rest = (period - runtime) / 1000;
    let finding = RULE
        .finding(
            severity,
            format!("FIFO and RR tasks are throttled for {rest} ms of each {} ms", period / 1000),
        )
        .on(&machine.target)
        .seen(machine.evidence(RT_RUNTIME))
        .seen(machine.evidence(RT_PERIOD))
        .so("A real-time task that polls and never sleeps is stopped that long; one that sleeps enough is \
             not affected.")
        .advice(
            "sysctl -w kernel.sched_rt_runtime_us=-1, if every real-time task sleeps often enough for the \
             kernel threads of its CPU: a task that spins then starves them (ksoftirqd, rcuc, workers that \
             others wait for) and can hang the machine. It also disables the admission control of \
             SCHED_DEADLINE",
        );
    vec![finding]
}
