// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "starved-threads",
    title: "A real-time task has a higher priority than kernel threads of its CPU, and starves them if it \
            never sleeps (PREEMPT_RT)",
    severity: Severity::Note,
    reads: &[TASK_STAT, TASK_STATUS, CMDLINE],
    source: "kernel/rcu/tree.c: rcu_cpu_kthread_setup (kthread_prio); kernel/softirq.c: ksoftirqd, ktimers",
    find,
};

/// Threads of one CPU that others wait for; on PREEMPT_RT they compete by their priority.
const NEEDED: &[&str] = &["rcuc/", "ktimers/", "ksoftirqd/"];

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    if !machine.is_rt() {
        return Vec::new();
    }
    machine.target.iter().filter_map(|cpu| told(machine, cpu)).collect()
}

fn told(machine: &Machine<'_>, cpu: u32) -> Option<Finding> {
    let only: CpuList = [cpu].into_iter().collect();
    let own = || machine.tasks.iter().filter(|task| task.allowed == only);
    let spins = |task: &&crate::Task| !task.kernel && task.is_realtime() && task.runnable;
    let task = own().filter(spins).max_by_key(|task| task.priority)?;
    let needed = |other: &&crate::Task| {
        other.kernel
            && other.priority < task.priority
            && NEEDED.iter().any(|name| other.name.starts_with(name))
    };
    let below: Vec<&crate::Task> = own().filter(needed).collect();
    if below.is_empty() {
        return None;
    }
    let finding = RULE
        .naming(Severity::Note, |most| {
            let others = names(below.iter().map(|other| other.name.as_str()), most);
            format!("{} runs on {} at priority {}, above {others}", task.name, cpus(&only), task.priority)
        })
        .on(&only)
        .seen([task.rank()])
        .seen(below.iter().map(|other| other.rank()))
        .so("If it never sleeps, they never run: RCU stalls, timers and softirqs of this CPU wait, and all \
             that depends on them hangs.")
        .advice(
            "let the task sleep regularly, give it a lower priority (chrt -p), or give these threads a \
                 higher one",
        );
    let rcu = below.iter().any(|other| other.name.starts_with("rcuc/")) && task.priority < 99;
    Some(if rcu { finding.boot(format!("rcutree.kthread_prio={}", task.priority + 1)) } else { finding })
}
