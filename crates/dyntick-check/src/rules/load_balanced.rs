// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "load-balanced",
    title: "A nohz_full CPU is still load balanced",
    severity: Severity::Warning,
    reads: &[
        NOHZ_FULL,
        ISOLATED,
        CMDLINE,
        CONTROLLERS,
        PARTITION,
        PARTITION_2,
        PARTITION_3,
        TASK_STAT,
        TASK_STATUS,
        TASK_CGROUP,
    ],
    source: "kernel/sched/isolation.c: housekeeping_nohz_full_setup; kernel/sched/topology.c: sched_init_domains",
    find,
};

/// The number of CPUs up to which two parameters are suggested although no task shows that each CPU is for one task.
const FEW: usize = 4;

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let balanced = machine.of_target(&machine.nohz_full).difference(&machine.isolated);
    let balanced = balanced.difference(&super::isolcpus_without_domain::concerned(machine));
    // Lists that contradict each other have a rule that says which CPUs remain.
    let is_undecided = machine.asked.outcomes.iter().any(|(_, outcome)| *outcome == Outcome::Mismatch);
    if balanced.is_empty() || is_undecided {
        return Vec::new();
    }
    let finding = |severity| {
        RULE.finding(severity, format!("{} in nohz_full, but still load balanced", cpus_are(&balanced)))
            .on(&balanced)
            .seen(machine.evidence(NOHZ_FULL))
            .seen(machine.evidence(ISOLATED))
    };
    let strays: Vec<&crate::Task> = machine.strays(&balanced).collect();
    let pinned: Vec<&crate::Task> = machine.pinned(&balanced).collect();
    // A line that asks for isolation, even one that was refused, does not want these CPUs balanced.
    let isolates = !machine.wanted().domain.is_empty();
    if let Some(manager) = keeper(machine) {
        return vec![confined(finding(Severity::Note), manager, &strays, &pinned)];
    }
    let more = if machine.since(7, 0) {
        " Since 7.0 nohz_full alone does not keep kernel threads away either."
    } else {
        ""
    };
    let restarts = format!("the tick restarts once a second task is runnable there.{more}");
    if !pinned.is_empty() || isolates {
        let effect = match (strays.is_empty(), machine.tasks.is_empty()) {
            (true, false) => {
                format!(
                    "No task that runs now may be placed there but those that are pinned. A new one may; {restarts}"
                )
            }
            _ => format!("Any task may be placed there, and {restarts}"),
        };
        let missing = domain(machine, &balanced).and(&managed_irq(&balanced));
        let composed = if isolates { machine.composed(&missing) } else { machine.composed_anew(&missing) };
        let finding = finding(Severity::Warning).so(effect).composed(composed);
        return vec![partition(finding, machine, &balanced)];
    }
    vec![undecided(machine, &balanced, finding, &restarts)]
}

/// The service that keeps CPUs free by task affinity, on a line that asks for no isolation.
pub(super) fn keeper(machine: &Machine<'_>) -> Option<Evidence> {
    machine.manager().filter(|_| machine.wanted().domain.is_empty())
}

/// The way in which it keeps them free.
pub(super) fn way_of(keeper: &Evidence) -> String {
    format!("{} keeps CPUs free by affinity", keeper.value)
}

/// The price of isolating such CPUs from load balancing.
pub(super) const ONE_CPU: &str = "would keep all threads of a container on one CPU";

/// Reports CPUs that a service keeps free by task affinity: isolating them too would break the service's placement.
fn confined(
    finding: Finding,
    manager: Evidence,
    strays: &[&crate::Task],
    pinned: &[&crate::Task],
) -> Finding {
    let list = |tasks: &[&crate::Task]| names(tasks.iter().map(|task| task.name.as_str()), 4);
    let who = match (strays.is_empty(), pinned.is_empty()) {
        (true, true) => "No task that runs now may be placed there.".to_owned(),
        (true, false) => {
            format!("No task that runs now may be placed there but those that are pinned: {}.", list(pinned))
        }
        (false, _) => format!("These tasks may be placed there now: {}.", list(strays)),
    };
    let way = way_of(&manager);
    finding.seen([manager]).so(format!("{who} {way}, so that load balancing is intended.")).advice(format!(
        "change the CPUs where they are managed (tuned profile, kubelet, systemd); isolating them from load \
         balancing {ONE_CPU}"
    ))
}

/// Reports CPUs of unknown use, for one task each or for all programs, as no task shows it.
fn undecided(
    machine: &Machine<'_>,
    balanced: &CpuList,
    finding: impl Fn(Severity) -> Finding,
    restarts: &str,
) -> Finding {
    let said = machine.said("nohz_full").or_else(|| machine.said("isolcpus"));
    let parameter = said.as_ref().map_or("nohz_full=", |said| said.value.as_str()).to_owned();
    let composed = machine.composed_anew(&domain(machine, balanced).and(&managed_irq(balanced)));
    let is_small = balanced.len() <= FEW && 2 * balanced.len() <= machine.online.len();
    let severity = if is_small || balanced.len() + 1 >= machine.online.len() {
        Severity::Warning
    } else {
        Severity::Note
    };
    let finding = finding(severity).seen(said).so(format!(
        "nohz_full= helps only where one task is alone on a CPU; elsewhere it makes each system call and interrupt \
         dearer, and leaves timers and unbound work to the other CPUs. No task is pinned to {}; {restarts}",
        cpus(balanced)
    ));
    match composed {
        Ok(composed) if is_small => finding.advice(format!(
            "if each is for one task that is pinned to it: boot with {composed}; otherwise boot without {parameter}"
        )),
        _ => finding.advice(format!(
            "boot without {parameter}, unless one task is pinned to each of these CPUs: then take them out of load \
             balancing as well, and leave enough CPUs for all other programs"
        )),
    }
}

/// Makes an isolated partition of some CPUs, into which their tasks are then moved. It makes none if `isolcpus=`
/// isolates others: when a partition begins, the kernel's own threads get all CPUs that are in none
/// (`kernel/cgroup/cpuset.c: cpuset_update_tasks_cpumask`, 6.12), including those of `isolcpus=`. 6.12 also refuses
/// these CPUs in a new partition ("partition config conflicts with housekeeping setup", seen on 6.12.117). It makes
/// none either before 6.1, which has no isolated partitions; if tasks are pinned to these CPUs, which a partition
/// takes away from them; and if the root of control groups v2, with the controller `cpuset`, is not mounted.
pub(super) fn partition(finding: Finding, machine: &Machine<'_>, cpus: &CpuList) -> Finding {
    let controllers = machine.text(CONTROLLERS).unwrap_or_default();
    let is_possible = machine.dialect.has_isolated_partitions()
        && machine.asked.domain.is_empty()
        && controllers.split(' ').any(|name| name == "cpuset");
    if !is_possible {
        return finding;
    }
    if let Some(file) = machine.balanced_partition(cpus) {
        return match shell::path(file) {
            Ok(file) => finding.command(format!("echo isolated > {file}")),
            Err(why) => {
                finding.advice(format!("write isolated to that file ({why}, so no command is given)"))
            }
        };
    }
    let pinned = machine.pinned(cpus).next();
    let make = format!(
        "(cd /sys/fs/cgroup && echo +cpuset > cgroup.subtree_control && mkdir -p quiet && \
         echo {cpus} > quiet/cpuset.cpus && echo isolated > quiet/cpuset.cpus.partition)"
    );
    match pinned {
        Some(task) => finding.advice(format!(
            "until then an isolated cpuset partition does the same for load balancing. It takes the CPUs away from tasks \
             outside of it: move {} into it at once (cgroup.procs)",
            task.name
        )),
        None => finding.command(make),
    }
}
