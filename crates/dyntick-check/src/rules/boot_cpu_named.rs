// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "boot-cpu-named",
    title: "The boot CPU was named with -C, and cannot be made quiet",
    severity: Severity::Warning,
    reads: &[ONLINE, TASK_STAT, TASK_STATUS],
    source: "kernel/time/tick-sched.c: tick_nohz_init; kernel/sched/isolation.c: housekeeping_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let boot_cpu = CpuList::first(1);
    if !machine.named || machine.of_target(&boot_cpu).is_empty() || machine.isolated.contains(0) {
        return Vec::new();
    }
    let pinned: Vec<&crate::Task> = machine.pinned(&boot_cpu).collect();
    let others = machine.online.difference(&machine.target);
    let finding = RULE
        .warning("CPU 0 does the timekeeping and more that no other CPU takes over: choose other CPUs")
        .on(&boot_cpu)
        .seen(pinned.iter().map(|task| task.affinity()))
        .so("nohz_full= leaves the boot CPU out. It has unbound timers and work, interrupts that were never moved, and on \
             many machines the per-CPU work of firmware and hotplug.");
    let named: Vec<String> = pinned.iter().map(|task| format!("{} [{}]", task.name, task.tid)).collect();
    vec![match (pinned.is_empty(), others.is_empty()) {
        (true, _) | (_, true) => finding.advice("choose other CPUs than CPU 0 for tasks that must not be interrupted"),
        (false, false) => finding.advice(format!(
            "move tasks that are pinned to CPU 0 to another CPU (taskset -pc), e.g. to one of {others}, and isolate that: {}",
            in_order(named.iter().map(String::as_str).collect(), 4)
        )),
    }]
}
