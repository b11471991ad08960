// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::Task;

pub(super) static RULE: Rule = Rule {
    id: "starved-threads",
    title: "A real-time task has a higher priority than threads of its CPU, and starves them if it never sleeps",
    severity: Severity::Warning,
    reads: &[
        TASK_STAT,
        TASK_STATUS,
        CMDLINE,
        RT_RUNTIME,
        RT_PERIOD,
        FAIR_SERVER,
        EXT_SERVER,
        SCHED_EXT,
        SCHED_EXT_ALL,
        ISOLATED,
    ],
    source: "kernel/sched/rt.c: sched_rt_runtime_exceeded; kernel/sched/deadline.c: dl_server_start (6.12); \
             kernel/rcu/tree.c: rcu_cpu_kthread_setup (kthread_prio); kernel/softirq.c: ksoftirqd, ktimers",
    find,
};

/// The per-CPU threads that others wait for; on PREEMPT_RT they compete by their priority.
const NEEDED: &[&str] = &["rcuc/", "ktimers/", "ktimersoftd/", "ksoftirqd/"];

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    machine.target.iter().filter_map(|cpu| judge(machine, cpu)).collect()
}

fn judge(machine: &Machine<'_>, cpu: u32) -> Option<Finding> {
    let only: CpuList = [cpu].into_iter().collect();
    let here = |task: &&Task| task.allowed == only || (task.runnable && task.cpu == Some(cpu));
    let spins = |task: &&Task| !task.kernel && task.is_realtime() && task.runnable;
    let task = machine.tasks.iter().filter(here).filter(spins).max_by_key(|task| task.priority)?;
    let is_rt = machine.is_rt();
    let needed = |other: &Task| is_rt && NEEDED.iter().any(|name| other.name.starts_with(name));
    // Another runnable task waits already: a bound thread, or a program that nothing moves away.
    let waits = |other: &Task| {
        let stuck = other.allowed == only || (!other.kernel && other.allowed.is_subset(&machine.isolated));
        other.runnable && stuck && other.is_fair()
    };
    let below = |other: &&Task| {
        let ranks_below = other.priority < task.priority && !other.is_deadline();
        ranks_below && ((other.kernel && other.allowed == only && needed(other)) || waits(other))
    };
    let below: Vec<&Task> = machine.tasks.iter().filter(here).filter(below).collect();
    // Throttling and the fair server leave time to normal tasks only: real-time threads are stopped too.
    let net = safety_net(machine, cpu);
    let lost = |other: &&&Task| other.is_realtime() || net.is_none();
    let lost: Vec<&Task> = below.iter().filter(lost).copied().collect();
    if lost.is_empty() {
        return None;
    }
    // The kernel needs ksoftirqd only once a softirq is left to it.
    let severity = if lost.iter().any(|other| other.is_realtime() || other.runnable) {
        Severity::Warning
    } else {
        Severity::Note
    };
    let finding = RULE
        .naming(severity, |most| {
            let others = names(below.iter().map(|other| other.name.as_str()), most);
            format!("{} runs on {} at priority {}, above {others}", task.name, cpus(&only), task.priority)
        })
        .on(&only)
        .seen([task.rank()])
        .seen(below.iter().map(|other| other.rank()))
        .seen(machine.evidence(RT_RUNTIME).filter(|_| !machine.since(6, 12)))
        .so(format!(
            "If it never sleeps, {} never run{}: {}.{}",
            names(lost.iter().map(|other| other.name.as_str()), 4),
            if lost.len() == 1 { "s" } else { "" },
            harm(&lost),
            net.unwrap_or_default()
        ));
    Some(fixed(finding, machine, task, &lost))
}

/// The mechanism that leaves normal tasks some time on a CPU with a real-time task that never sleeps, as a sentence;
/// `None` if there is none.
fn safety_net(machine: &Machine<'_>, cpu: u32) -> Option<&'static str> {
    if machine.since(6, 12) {
        let (_, runtime) = match by_bpf(machine) {
            // Tasks of a BPF scheduler are not of the fair class, and have their own server since 7.0.
            true if !machine.since(7, 0) => return None,
            true => machine.of_cpu(EXT_SERVER, cpu),
            false => machine.of_cpu(FAIR_SERVER, cpu),
        };
        return (runtime != Some("0")).then_some(
            " A deadline server lets normal tasks run for a part of each second, but no real-time thread.",
        );
    }
    let (runtime, period) = (machine.number(RT_RUNTIME), machine.number(RT_PERIOD).unwrap_or(1_000_000));
    let off = runtime.is_some_and(|runtime| runtime < 0 || runtime >= period);
    (!off)
        .then_some(" RT throttling lets normal tasks run for a part of each second, but no real-time thread.")
}

/// Returns true if a BPF scheduler has all normal tasks.
pub(super) fn by_bpf(machine: &Machine<'_>) -> bool {
    machine.text(SCHED_EXT) == Some("enabled") && machine.text(SCHED_EXT_ALL) == Some("1")
}

fn harm(lost: &[&Task]) -> &'static str {
    let (kernel, program) = (lost.iter().any(|other| other.kernel), lost.iter().any(|other| !other.kernel));
    match (kernel, program) {
        (true, false) => {
            "RCU, timers, softirqs or work items of this CPU wait, and all that depends on them hangs"
        }
        (true, true) => {
            "no load balancing takes a program away from an isolated CPU, and RCU, timers, softirqs or work items \
             of this CPU wait"
        }
        (false, _) => "no load balancing takes a program away from an isolated CPU",
    }
}

fn fixed(finding: Finding, machine: &Machine<'_>, task: &Task, lost: &[&Task]) -> Finding {
    let programs: Vec<&Task> = lost.iter().copied().filter(|other| !other.kernel).collect();
    let finding = match (programs.is_empty(), machine.housekeeping()) {
        (false, rest) if !rest.is_empty() => {
            let tids: Vec<String> = programs.iter().map(|program| program.tid.to_string()).collect();
            finding.advice(format!(
                "move {} to housekeeping CPUs: virsh emulatorpin DOMAIN {rest} for a guest of libvirt, else \
                 for p in {}; do taskset -pc {rest} $p; done, in a cpuset that has these CPUs",
                names(programs.iter().map(|program| program.name.as_str()), usize::MAX),
                tids.join(" ")
            ))
        }
        _ => finding,
    };
    let kernel = lost.iter().any(|other| other.kernel);
    let rank = if lost.iter().any(|other| other.kernel && other.is_realtime()) || (kernel && machine.is_rt())
    {
        ", or give these threads a higher one"
    } else {
        ""
    };
    let finding = finding.advice(format!(
        "let the task sleep regularly, give it a lower priority (chrt -p){rank}, or run it as SCHED_OTHER (chrt -o \
         -p 0 {}): alone on an isolated CPU it needs no priority",
        task.tid
    ));
    let rcu = lost.iter().any(|other| other.name.starts_with("rcuc/")) && task.priority < 99;
    let finding =
        if rcu { finding.boot(format!("rcutree.kthread_prio={}", task.priority + 1)) } else { finding };
    let normal = lost.iter().any(|other| !other.is_realtime());
    match (normal, machine.since(6, 12)) {
        (true, false) => finding.advice(
            "sysctl -w kernel.sched_rt_runtime_us=950000 leaves normal tasks 50 ms of each second, in which every \
             real-time task stops",
        ),
        (true, true) if by_bpf(machine) => finding.advice(
            "no server protects the tasks of a BPF scheduler before 7.0, and later that in \
             /sys/kernel/debug/sched/ext_server: keep it, or stop the scheduler",
        ),
        (true, true) => finding.advice(
            "keep the fair server of this CPU (/sys/kernel/debug/sched/fair_server), which leaves normal tasks \
             50 ms of each second: 50000000 is its runtime at boot",
        ),
        _ => finding,
    }
}
