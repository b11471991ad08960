// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::Task;

pub(super) static RULE: Rule = Rule {
    id: "cpu-quota",
    title: "A task that is pinned to a nohz_full CPU has a CPU quota: checked in the tick (since 6.6), or charged late",
    severity: Severity::Warning,
    reads: &[
        TASK_STAT,
        TASK_STATUS,
        TASK_CGROUP,
        NOHZ_FULL,
        CPU_MAX[0],
        CPU_MAX[1],
        CPU_MAX[2],
        CPU_MAX[3],
        CPU_MAX[4],
        CPU_MAX[5],
        CPU_QUOTA[0],
        CPU_QUOTA[1],
        CPU_QUOTA[2],
        CPU_QUOTA[3],
        CPU_QUOTA[4],
        CPU_QUOTA[5],
        CPU_QUOTA_ALONE[0],
        CPU_QUOTA_ALONE[1],
        CPU_QUOTA_ALONE[2],
        CPU_QUOTA_ALONE[3],
        CPU_QUOTA_ALONE[4],
        CPU_QUOTA_ALONE[5],
    ],
    source: "kernel/sched/core.c: sched_can_stop_tick, __need_bw_check (88c56cfeaec4), sched_tick_remote",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let found: Vec<(&Task, Vec<String>)> =
        pinned(machine).map(|task| (task, quotas(machine, task))).collect();
    let mut files: Vec<&String> = found.iter().flat_map(|(_, files)| files).collect();
    files.sort();
    files.dedup();
    files.into_iter().map(|file| judge(machine, file, &found)).collect()
}

/// Reports one group's quota. A task may have several above it, of which the smallest limits it: all must be removed.
fn judge(machine: &Machine<'_>, file: &String, found: &[(&Task, Vec<String>)]) -> Finding {
    let own = found.iter().filter(|(_, files)| files.contains(file)).map(|(task, _)| *task);
    let hit = own.clone().fold(CpuList::default(), |sum, task| sum.union(&task.allowed));
    let mut names_of_path = file.rsplit('/');
    let (name, group) = (names_of_path.next().unwrap_or_default(), names_of_path.next().unwrap_or_default());
    let effect = if machine.since(6, 6) {
        "The scheduler must detect when the quota is used up, so it keeps the tick even for a single runnable \
             task."
    } else {
        "Without a tick the time is charged about once a second (sched_tick_remote), all of it at once. The task \
             is then throttled for as many periods as that exceeds the quota, even if it uses no more than its share."
    };
    let finding = RULE
        .naming(Severity::Warning, |most| {
            let who = names(own.clone().map(|task| task.name.as_str()), most);
            format!("a CPU quota ({name} of {}) limits {who} on {}", text::clean_line(group), cpus(&hit))
        })
        .on(&hit)
        .seen(machine.evidence(file))
        .so(format!("{effect} In Kubernetes it is the CPU limit of a container."));
    let none = if name == "cpu.max" { "max" } else { "-1" };
    match shell::path(file) {
        Ok(file) => finding.command(format!("echo {none} > {file}")),
        Err(why) => finding.advice(format!("write {none} to that file ({why}, so no command is given)")),
    }
}

/// The programs that run only on CPUs of `nohz_full=`, under an ordinary policy.
fn pinned<'a>(machine: &'a Machine<'_>) -> impl Iterator<Item = &'a Task> {
    let quiet = machine.of_target(&machine.nohz_full);
    let here = move |task: &&Task| !task.allowed.is_empty() && task.allowed.is_subset(&quiet);
    machine.tasks.iter().filter(here).filter(|task| !task.kernel && (task.is_fair() || task.policy.is_none()))
}

/// The files of all control groups above a task that limit it.
fn quotas(machine: &Machine<'_>, task: &Task) -> Vec<String> {
    let groups = machine.text(&format!("/proc/{}/cgroup", task.pid)).unwrap_or_default();
    let files = groups.lines().filter_map(|line| {
        // `fs/proc: HIERARCHY:CONTROLLERS:PATH`; v2 is hierarchy 0, without controllers.
        let (controllers, group) = line.split_once(':')?.1.split_once(":/")?;
        let (folder, file) = match controllers {
            "" => ("/sys/fs/cgroup".to_owned(), "cpu.max"),
            "cpu" | "cpu,cpuacct" => (format!("/sys/fs/cgroup/{controllers}"), "cpu.cfs_quota_us"),
            _ => return None,
        };
        let ends = group.match_indices('/').map(|(at, _)| at).chain([group.len()]);
        Some(ends.map(|end| format!("{folder}/{}/{file}", &group[..end])).collect::<Vec<_>>())
    });
    let limits = |file: &String| {
        machine.text(file).is_some_and(|limit| !limit.starts_with("max") && !limit.starts_with('-'))
    };
    files.flatten().filter(limits).collect()
}
