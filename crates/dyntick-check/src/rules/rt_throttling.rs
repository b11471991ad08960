// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "rt-throttling",
    title: "RT throttling: real-time tasks that never sleep are stopped for a part of each period (before 6.12, or \
            with CONFIG_RT_GROUP_SCHED)",
    severity: Severity::Warning,
    reads: &[
        RT_RUNTIME,
        RT_PERIOD,
        TASK_STAT,
        TASK_STATUS,
        CONFIG_GZ,
        BOOT_CONFIG,
        MODULES_CONFIG,
        KERNEL_LOG,
    ],
    source: "kernel/sched/rt.c: update_curr_rt, sched_rt_runtime_exceeded",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let finding = if machine.since(6, 12) { of_groups(machine) } else { of_setting(machine) };
    let Some(finding) = finding.filter(|_| !machine.target.is_empty()) else { return Vec::new() };
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

const EFFECT: &str = "A real-time task that polls and never sleeps is stopped that long; one that sleeps enough is \
                      not affected.";

/// Before 6.12 the setting alone decides.
fn of_setting(machine: &Machine<'_>) -> Option<Finding> {
    let (runtime, period) = (machine.number(RT_RUNTIME)?, machine.number(RT_PERIOD)?);
    if runtime < 0 || runtime >= period {
        return None;
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
        .so(EFFECT);
    Some(finding)
}

/// Since 6.12 the fair server takes its place, but with CONFIG_RT_GROUP_SCHED groups are throttled still, and the root
/// group is one (`update_curr_rt`, `sched_init`; 6.12, 7.2). Its share is that of the boot, 950 ms of each second, and
/// the setting only ends it, by -1 (`rt_bandwidth_enabled`). Reading the setting would change the machine.
fn of_groups(machine: &Machine<'_>) -> Option<Finding> {
    const SETTING: &str = "sysctl.kernel.sched_rt_runtime_us";
    if machine.has("RT_GROUP_SCHED") != Some(true) || machine.line.get(SETTING) == Some("-1") {
        return None;
    }
    let activated = machine.logged("RT throttling activated").next();
    let log = activated.map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() });
    let severity = if activated.is_some() || machine.is_rt() { Severity::Warning } else { Severity::Note };
    let so_far = if activated.is_some() { ", and were since the boot" } else { "" };
    let finding = RULE
        .finding(
            severity,
            format!(
                "FIFO and RR tasks are throttled for 50 ms of each 1000 ms{so_far}, unless \
                 kernel.sched_rt_runtime_us is -1"
            ),
        )
        .on(&machine.target)
        .seen(machine.option("RT_GROUP_SCHED"))
        .seen(log)
        .so(format!("{EFFECT} With CONFIG_RT_GROUP_SCHED this is so on 6.12 and newer, too."));
    Some(finding)
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
