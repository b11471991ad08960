// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "cpu-time-limit",
    title: "A task that is pinned to a nohz_full CPU has a CPU time limit (RLIMIT_CPU)",
    severity: Severity::Note,
    reads: &[TASK_STAT, TASK_STATUS, TASK_LIMITS, NOHZ_FULL],
    source: "kernel/time/posix-cpu-timers.c: update_rlimit_cpu, set_process_cpu_timer",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let quiet = machine.of_target(&machine.nohz_full);
    let here =
        |task: &&crate::Task| !task.kernel && !task.allowed.is_empty() && task.allowed.is_subset(&quiet);
    // Threads of a process share it.
    let leaders = machine.tasks.iter().filter(here).filter(|task| task.pid == task.tid);
    leaders.filter_map(|task| judge(machine, task)).collect()
}

fn judge(machine: &Machine<'_>, task: &crate::Task) -> Option<Finding> {
    let message = format!(
        "{} (pid {}) on {} has a CPU time limit (RLIMIT_CPU)",
        task.name,
        task.pid,
        cpus(&task.allowed)
    );
    let finding =
        RULE.note(message).on(&task.allowed).seen(machine.evidence(&limit(machine, task)?)).so(
            "If the program or prlimit set it at run time, it is checked in the tick, which is kept for \
             it; an inherited limit does not need that.",
        );
    Some(finding.command(format!("prlimit --pid {} --cpu=unlimited", task.pid)))
}

/// The file with the task's limit, if it has one.
fn limit(machine: &Machine<'_>, task: &crate::Task) -> Option<String> {
    let file = format!("/proc/{}/limits", task.pid);
    let line = machine.text(&file)?.lines().find_map(|line| line.strip_prefix("Max cpu time"))?;
    (line.split_ascii_whitespace().next()? != "unlimited").then_some(file)
}
