// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "deadline-task",
    title: "A SCHED_DEADLINE task on a nohz_full CPU: the tick is kept even if it is the only task",
    severity: Severity::Warning,
    reads: &[TASK_STAT, TASK_STATUS, NOHZ_FULL],
    source: "kernel/sched/core.c: sched_can_stop_tick (dl_nr_running)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let quiet = machine.of_target(&machine.nohz_full);
    let here = |task: &&crate::Task| {
        !task.kernel && task.is_deadline() && !task.allowed.intersection(&quiet).is_empty()
    };
    let found: Vec<&crate::Task> = machine.tasks.iter().filter(here).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let hit =
        found.iter().fold(CpuList::default(), |sum, task| sum.union(&task.allowed.intersection(&quiet)));
    let finding = RULE
        .naming(Severity::Warning, |most| {
            let who = names(found.iter().map(|task| task.name.as_str()), most);
            format!("{who} under SCHED_DEADLINE may run on {}", cpus(&hit))
        })
        .on(&hit)
        .seen(found.iter().map(|task| task.affinity()))
        .so("Its runtime is charged in the tick, so the tick is kept while it is runnable, even if no other \
             task is.")
        .advice(
            "run it under SCHED_FIFO (chrt --fifo) if nothing else shares its CPU: that needs no tick, but \
             has no runtime limit either, and a task that never sleeps starves all others on that CPU",
        );
    vec![finding]
}
