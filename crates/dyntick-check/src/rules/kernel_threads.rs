// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "kernel-threads",
    title: "Movable kernel threads may run on an isolated CPU",
    severity: Severity::Warning,
    reads: &[TASK_STAT, TASK_STATUS],
    source: "kernel/kthread.c: kthread, kthreadd (HK_TYPE_KTHREAD), kthreads_update_housekeeping (7.0)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let free = |task: &&crate::Task| {
        // Interrupt threads follow their interrupt, which has its own rule.
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
    let finding = moved(finding, machine, command);
    vec![match later(machine, &hit) {
        Some(later) => finding.advice(later),
        None => finding,
    }]
}

/// The CPUs of threads that are created later, e.g. by modules with thread pools.
fn later(machine: &Machine<'_>, hit: &CpuList) -> Option<&'static str> {
    if machine.since(7, 0) {
        return Some(
            "a change of an isolated partition sets the CPUs of unbound threads anew: then run it again",
        );
    }
    if !machine.since(5, 9) {
        return Some(
            "a thread that is created later, as modules with pools of threads do (ZFS), may run on all CPUs again: \
             then run it again",
        );
    }
    (!hit.is_subset(&machine.nohz_full)).then_some(
        "a thread that is created later, as modules with pools of threads do (ZFS), may run on all CPUs but those of \
         nohz_full=: then run it again",
    )
}
