// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::Task;
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    id: "stacked-tasks",
    title: "Several tasks may run on the same isolated CPUs, among which no load balancing spreads them",
    severity: Severity::Warning,
    reads: &[TASK_STAT, TASK_STATUS, ISOLATED, PARTITION, PARTITION_2, PARTITION_3, SCHED_EXT, SCHED_EXT_ALL],
    source: "kernel/sched/fair.c: select_task_rq_fair, select_idle_sibling (without a scheduling domain a task stays \
             on its CPU)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // A BPF scheduler has its own placement; FIFO and RR tasks are pushed (`kernel/sched/rt.c: push_rt_task`).
    if super::starved_threads::by_bpf(machine) {
        return Vec::new();
    }
    let mut groups: BTreeMap<String, Vec<&Task>> = BTreeMap::new();
    for task in machine.tasks.iter().filter(|task| !task.kernel && task.is_fair()) {
        let own = task.allowed.intersection(&machine.online);
        if own.len() > 1 && own.is_subset(&machine.isolated) && !machine.of_target(&own).is_empty() {
            groups.entry(own.to_string()).or_default().push(task);
        }
    }
    groups.values().filter(|group| group.len() > 1).map(|group| judge(machine, group)).collect()
}

/// Reports tasks that may run on the same CPUs.
fn judge(machine: &Machine<'_>, group: &[&Task]) -> Finding {
    let may = group[0].allowed.intersection(&machine.online);
    let waiting: Vec<&Task> = group.iter().copied().filter(|task| task.runnable).collect();
    let crowded = crowded(machine, &waiting, &may);
    let severity = if crowded.is_empty() { Severity::Note } else { Severity::Warning };
    let shown = if crowded.is_empty() { group } else { &waiting };
    let there = waiting.iter().filter(|task| task.cpu.is_some_and(|cpu| crowded.contains(cpu))).count();
    let place = match (crowded.len(), there == waiting.len()) {
        (0, _) => String::new(),
        (1, true) => format!(", and are all on {}", cpus(&crowded)),
        (1, false) => format!(", and {there} of them are on {}", cpus(&crowded)),
        _ => format!(", and share {}", cpus(&crowded)),
    };
    let kind = if crowded.is_empty() { "threads" } else { "runnable tasks" };
    let finding = RULE
        .naming(severity, |most| {
            let who = names(shown.iter().map(|task| task.name.as_str()), most);
            format!(
                "{} {kind} may run on {}, which are not load balanced{place}: {who}",
                shown.len(),
                cpus(&may)
            )
        })
        .on(&may)
        .seen(shown.iter().map(|task| task.affinity()))
        .so(
            "The scheduler does not spread tasks over isolated CPUs: each one stays on the CPU where it was \
             started or put, and those of one CPU share it while others idle.",
        );
    let pin = if group.iter().any(|task| is_virtual_cpu(task)) {
        "pin each virtual CPU to a CPU: virsh vcpupin DOMAIN VCPU CPU (<cputune> in its XML), or \
             taskset -pc where libvirt does not run the guest"
    } else {
        "pin each one to a CPU of its own: taskset -pc, or the program's own setting"
    };
    let has = |isolated: &CpuList| !isolated.intersection(&may).is_empty();
    let balance = match (has(&machine.cpusets.isolated), has(&machine.asked.domain)) {
        (true, _) => {
            "switch load balancing on in their own cpuset (sched_load_balance), which the root's setting \
                      leaves alone"
                .to_owned()
        }
        (false, true) => format!("leave {} load balanced: boot without them in isolcpus=", cpus(&may)),
        (false, false) => format!(
            "leave {} load balanced: a partition of the kind root (cpuset.cpus.partition) keeps other tasks \
             away too, and spreads those that are in it",
            cpus(&may)
        ),
    };
    vec![pin.to_owned(), balance].into_iter().fold(finding, Finding::advice)
}

/// The CPUs on which runnable tasks of a group wait while another of their CPUs has at least two fewer.
fn crowded(machine: &Machine<'_>, waiting: &[&Task], may: &CpuList) -> CpuList {
    let load = |cpu: u32| {
        machine.tasks.iter().filter(|task| !task.kernel && task.runnable && task.cpu == Some(cpu)).count()
    };
    let least = may.iter().map(load).min().unwrap_or(0);
    let full = |cpu: &u32| waiting.iter().any(|task| task.cpu == Some(*cpu)) && load(*cpu) >= least + 2;
    may.iter().filter(full).collect()
}

/// Returns true for a thread that runs a virtual CPU, by QEMU's name for it.
fn is_virtual_cpu(task: &Task) -> bool {
    task.name.starts_with("CPU ") && task.name.ends_with("/KVM")
}
