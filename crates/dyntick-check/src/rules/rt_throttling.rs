// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "rt-throttling",
    title: "RT throttling: real-time tasks that never sleep are stopped for a part of each period (before 6.12)",
    severity: Severity::Warning,
    reads: &[RT_RUNTIME, RT_PERIOD, TASK_STAT, TASK_STATUS],
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
             not affected.");
    if let Some(saved) = saved(machine) {
        return vec![finding.seen([saved.affinity()]).advice(format!(
            "keep it: {} runs on {} only because a real-time task there is throttled",
            saved.name,
            cpus(&saved.allowed)
        ))];
    }
    let finding = finding.advice(
        "sysctl -w kernel.sched_rt_runtime_us=-1, if every real-time task sleeps often enough for the \
             kernel threads of its CPU: a task that spins then starves them (ksoftirqd, rcuc, workers that \
             others wait for) and can hang the machine. It also disables the admission control of \
             SCHED_DEADLINE",
    );
    vec![finding]
}

/// Finds a runnable task that waits behind a real-time program, if both are pinned to one CPU.
fn saved<'a>(machine: &'a Machine<'_>) -> Option<&'a crate::Task> {
    let on_target = |task: &&crate::Task| task.allowed.len() == 1 && task.allowed.is_subset(&machine.target);
    let runnable: Vec<&crate::Task> =
        machine.tasks.iter().filter(|task| task.runnable).filter(on_target).collect();
    let above = |task: &crate::Task, other: &crate::Task| {
        other.is_realtime()
            && !other.kernel
            && other.allowed == task.allowed
            && other.priority > task.priority
    };
    runnable.iter().copied().find(|task| runnable.iter().any(|other| above(task, other)))
}
