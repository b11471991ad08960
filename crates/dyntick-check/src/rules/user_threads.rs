// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "user-threads",
    title: "User threads that are not pinned may run on an isolated CPU",
    severity: Severity::Note,
    reads: &[TASK_STAT, TASK_STATUS, TASK_CGROUP],
    source: "kernel/sched/core.c: select_task_rq",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // Any task may run on a load-balanced CPU; other rules report that.
    let quiet = machine.of_target(&machine.isolated);
    let strays = |task: &&crate::Task| {
        let here = !quiet.intersection(&task.allowed).is_empty();
        !task.kernel && here && !task.allowed.intersection(&machine.housekeeping()).is_empty()
    };
    let found: Vec<_> = machine.tasks.iter().filter(strays).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let who = |most| names(found.iter().map(|task| task.name.as_str()), most);
    let plural = if found.len() == 1 { "" } else { "s" };
    let tids: Vec<String> = found.iter().map(|task| task.tid.to_string()).collect();
    let finding = RULE
        .naming(Severity::Note, |most| {
            let on = cpus(&quiet);
            format!("{} user thread{plural} may run on {on} and elsewhere: {}", found.len(), who(most))
        })
        .on(&quiet)
        .seen(found.iter().map(|task| task.affinity()))
        .so("The load balancer moves none of them there, but a thread that gets there, for example by \
             taskset, stays.");
    let command = |rest: &CpuList| format!("for p in {}; do taskset -pc {rest} $p; done", tids.join(" "));
    let finding = moved(finding, machine, command);
    vec![match written_by(machine) {
        Some(seen) => finding.seen([seen]).advice(format!(
            "the runtime of containers writes these masks anew. Lasting: in Kubernetes reservedSystemCPUs: {quiet} with \
             the option strict-cpu-reservation of the static CPU manager (from 1.32 on), which keeps all pods off them; \
             for others a set of CPUs for each container (docker --cpuset-cpus, AllowedCPUs= of a slice)"
        )),
        None => finding,
    }]
}

/// Finds a container runtime, which gives each container the CPUs that no other has exclusively.
fn written_by(machine: &Machine<'_>) -> Option<Evidence> {
    const RUNTIMES: &[&str] = &["kubelet", "k3s-server", "k3s-agent", "k3s", "crio", "containerd", "dockerd"];
    let runs = RUNTIMES.iter().find_map(|name| machine.runs(name));
    let runs = runs.map(|task| Evidence { file: task.file.clone(), value: task.name.clone() });
    runs.or_else(|| pod(machine))
}

fn pod(machine: &Machine<'_>) -> Option<Evidence> {
    machine.matching(TASK_CGROUP).find_map(|(file, groups)| {
        let line = groups.lines().find(|line| line.contains("/kubepods"))?;
        Some(Evidence { file: file.to_owned(), value: line.to_owned() })
    })
}
