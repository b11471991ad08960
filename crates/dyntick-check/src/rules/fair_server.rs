// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "fair-server",
    title: "The fair server (deadline server for normal tasks) is armed on an isolated CPU",
    severity: Severity::Warning,
    reads: &[FAIR_SERVER, TASK_STAT, TASK_STATUS, PARTITION, PARTITION_2, PARTITION_3],
    source: "kernel/sched/fair.c: enqueue_task_fair; kernel/sched/deadline.c: dl_server_timer (6.12)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let armed = |cpu: &u32| {
        let (_, runtime) = machine.of_cpu(FAIR_SERVER, *cpu);
        runtime.is_some_and(|runtime| runtime != "0")
    };
    // By the source, 6.19 charges the running task first (`dl_server_timer`: `update_curr`). 7.2, which does the same,
    // was measured and disturbs no task.
    let on: CpuList = machine.of_target(&machine.nohz_full).iter().filter(armed).collect();
    if on.is_empty() || machine.since(6, 19) {
        return Vec::new();
    }
    let (severity, effect) = if machine.since(6, 13) {
        (
            Severity::Note,
            "On 6.12 it costs a running SCHED_OTHER task two IPIs and a tick a second. By the source 6.13 and 6.14 \
             do the same, and 6.19 charges that task first (update_curr in dl_server_timer), after which it costs \
             nothing (measured on 7.2).",
        )
    } else {
        (
            Severity::Warning,
            "While a SCHED_OTHER task runs there, the server starts about once a second: two IPIs and one \
             tick (measured on 6.12.95 and 6.12.117). FIFO tasks do not start it.",
        )
    };
    let (file, _) = machine.of_cpu(FAIR_SERVER, on.iter().next().unwrap_or(0));
    let finding = RULE
        .finding(severity, format!("the fair server is armed on {}", cpus(&on)))
        .on(&on)
        .seen(machine.evidence(&file))
        .so(format!("{effect} {STARVES}"));
    if let Some(task) = machine.tasks.iter().find(|task| needs_server(task, &on)) {
        return vec![finding.seen([Evidence { file: task.file.clone(), value: task.name.clone() }]).advice(format!(
            "keep it: {} is a real-time task on {}, and if it spins, only the server lets other tasks run there",
            task.name,
            cpus(&task.allowed)
        ))];
    }
    if let Some(partition) = partitioned(machine) {
        return vec![finding.seen([partition]).advice(
            "on 6.12 the kernel refuses to change it once an isolated partition has been created or changed, \
             because the bandwidth accounting that it checks is lost: turn it off before, as dyntick isolate \
             does while a command runs. sysctl -w kernel.sched_rt_runtime_us=-1, if it stays set, disables \
             the check: SCHED_DEADLINE then has no admission control on the complete machine",
        )];
    }
    vec![finding
        .command(while_busy(&on))
        .advice(format!("dyntick isolate -C {on} -- COMMAND does so while the command runs"))
        .advice(
            "if the write fails with EBUSY: on 6.12 any read of kernel.sched_rt_runtime_us, and each CPU or \
             partition that is added or removed, loses the bandwidth accounting that is checked. sysctl -w \
             kernel.sched_rt_runtime_us=-1, if it stays set, disables the check: SCHED_DEADLINE then has no \
             admission control on the complete machine",
        )]
}

const STARVES: &str = "Without the server, a real-time task that never sleeps starves all others on its CPU, \
    kernel threads included; the kernel warns about that in its log.";

/// Finds a partition whose CPUs have no bandwidth account. When the kernel rebuilds the scheduling domains it clears
/// the account of all CPUs without one and adds no server again (`kernel/cgroup/cpuset.c: dl_rebuild_rd_accounting`,
/// 6.12). Subtracting the old runtime then exceeds the total (`kernel/sched/deadline.c: __dl_overflow`).
fn partitioned(machine: &Machine<'_>) -> Option<Evidence> {
    let (path, _) = machine.partitions.iter().find(|(_, state)| state == "isolated")?;
    machine.evidence(path).filter(|_| !machine.since(6, 13))
}

/// Returns true for a real-time program that runs only on these CPUs.
fn needs_server(task: &crate::Task, on: &CpuList) -> bool {
    task.is_realtime() && !task.kernel && !task.allowed.is_empty() && task.allowed.is_subset(on)
}

/// Writes the runtime while the server runs. 6.12 stops a server when its runtime is written, even one that does not
/// run; it then warns and keeps a wrong account (`kernel/sched/deadline.c: dl_server_stop, task_non_contending`). A
/// loop of the shell, an ordinary task, keeps the server running.
fn while_busy(on: &CpuList) -> String {
    let names: Vec<String> = on.iter().map(|cpu| cpu.to_string()).collect();
    format!(
        "for c in {}; do taskset -c $c sh -c 'while :; do :; done' & sleep 1; \
         echo 0 > /sys/kernel/debug/sched/fair_server/cpu$c/runtime; kill $!; done",
        names.join(" ")
    )
}
