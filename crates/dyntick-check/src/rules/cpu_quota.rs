// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "cpu-quota",
    title: "A task that is pinned to a nohz_full CPU has a CPU quota, which is checked in the tick (since 6.6)",
    severity: Severity::Warning,
    reads: &[TASK_STAT, TASK_STATUS, TASK_CGROUP, CPU_MAX, CPU_MAX_2, CPU_MAX_3, CPU_MAX_4, NOHZ_FULL],
    source: "kernel/sched/core.c: sched_can_stop_tick, __need_bw_check (88c56cfeaec4)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if !machine.since(6, 6) {
        return Vec::new();
    }
    let found: Vec<(&crate::Task, String)> =
        pinned(machine).filter_map(|task| Some((task, quota(machine, task)?))).collect();
    let mut files: Vec<&String> = found.iter().map(|(_, file)| file).collect();
    files.sort();
    files.dedup();
    files.into_iter().map(|file| told(machine, file, &found)).collect()
}

fn told(machine: &Machine<'_>, file: &str, found: &[(&crate::Task, String)]) -> Finding {
    let own = found.iter().filter(|(_, other)| other == file).map(|(task, _)| *task);
    let hit = own.clone().fold(CpuList::default(), |sum, task| sum.union(&task.allowed));
    let finding = RULE
        .naming(Severity::Warning, |most| {
            let who = names(own.clone().map(|task| task.name.as_str()), most);
            format!("a CPU quota (cpu.max) limits {who} on {}", cpus(&hit))
        })
        .on(&hit)
        .seen(machine.evidence(file))
        .so("The scheduler must detect when the quota is used up, so it keeps the tick even for a single \
             runnable task. In Kubernetes it is the CPU limit of a container.");
    match shell::path(file) {
        Ok(file) => finding.command(format!("echo max > {file}")),
        Err(why) => finding.advice(format!("write max to that file ({why}, so no command is given)")),
    }
}

/// Programs that have no other CPUs than those of `nohz_full=`, and there an ordinary policy.
fn pinned<'a>(machine: &'a Machine<'_>) -> impl Iterator<Item = &'a crate::Task> {
    let quiet = machine.of_target(&machine.nohz_full);
    let here = move |task: &&crate::Task| !task.allowed.is_empty() && task.allowed.is_subset(&quiet);
    machine.tasks.iter().filter(here).filter(|task| !task.kernel && (task.is_fair() || task.policy.is_none()))
}

/// The file of the first control group above a task that limits it.
fn quota(machine: &Machine<'_>, task: &crate::Task) -> Option<String> {
    let group = machine
        .text(&format!("/proc/{}/cgroup", task.pid))?
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))?;
    let ends = group.match_indices('/').map(|(at, _)| at).chain([group.len()]);
    let mut files = ends.map(|end| format!("/sys/fs/cgroup/{}/cpu.max", &group[..end]));
    files.find(|file| machine.text(file).is_some_and(|limit| !limit.starts_with("max")))
}
