// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "shared-cpu",
    title: "Several runnable tasks are pinned to one nohz_full CPU",
    severity: Severity::Warning,
    reads: &[TASK_STAT, TASK_STATUS, NOHZ_FULL],
    source: "kernel/sched/core.c: sched_can_stop_tick",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    machine.of_target(&machine.nohz_full).iter().filter_map(|cpu| judge(machine, cpu)).collect()
}

fn judge(machine: &Machine<'_>, cpu: u32) -> Option<Finding> {
    let only: CpuList = [cpu].into_iter().collect();
    let here = |task: &&crate::Task| !task.kernel && task.is_fair() && task.runnable && task.allowed == only;
    let found: Vec<&crate::Task> = machine.tasks.iter().filter(here).collect();
    (found.len() > 1).then(|| {
        RULE.naming(Severity::Warning, |most| {
            let who = names(found.iter().map(|task| task.name.as_str()), most);
            format!("{} runnable tasks share {}: {who}", found.len(), cpus(&only))
        })
        .on(&only)
        .seen(found.iter().map(|task| task.affinity()))
        .so("The tick ends the time slices of normal tasks: it is kept while more than one is runnable.")
        .advice("give each task that runs all the time its own CPU (taskset -pc)")
    })
}
