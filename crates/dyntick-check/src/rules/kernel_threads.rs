// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "kernel-threads",
    title: "Movable kernel threads may run on an isolated CPU",
    severity: Severity::Warning,
    reads: &[TASK_STAT, TASK_STATUS],
    source: "kernel/kthread.c: kthread, kthreadd (HK_TYPE_KTHREAD)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let free = |task: &&crate::Task| {
        // Threads of interrupts follow their interrupt; another rule has it.
        task.kernel
            && task.movable
            && !task.name.starts_with("irq/")
            && !machine.of_target(&task.allowed).is_empty()
    };
    let found: Vec<_> = machine.tasks.iter().filter(free).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let hit = found.iter().fold(CpuList::default(), |sum, task| sum.union(&machine.of_target(&task.allowed)));
    let tids: Vec<String> = found.iter().map(|task| task.tid.to_string()).collect();
    let who = |most| names(found.iter().map(|task| task.name.as_str()), most);
    let plural = if found.len() == 1 { "" } else { "s" };
    let finding = RULE
        .naming(Severity::Warning, |most| {
            format!("{} kernel thread{plural} may run on {}: {}", found.len(), cpus(&hit), who(most))
        })
        .on(&hit)
        .seen(found.iter().map(|task| task.affinity()))
        .so("A thread that wakes up there takes the CPU from the running task, and on a nohz_full CPU restarts the tick.");
    let command = |rest: &CpuList| format!("for p in {}; do taskset -pc {rest} $p; done", tids.join(" "));
    vec![moved(finding, machine, command)]
}
