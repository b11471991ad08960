// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "not-isolated",
    title: "A CPU that was named with -C is not isolated at all",
    severity: Severity::Warning,
    reads: &[
        CMDLINE,
        NOHZ_FULL,
        ISOLATED,
        CONTROLLERS,
        PARTITION,
        PARTITION_2,
        PARTITION_3,
        CONFIG_GZ,
        BOOT_CONFIG,
        MODULES_CONFIG,
        TASK_STAT,
        TASK_STATUS,
        TASK_CGROUP,
    ],
    source: "kernel/sched/isolation.c: housekeeping_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // The boot CPU has its own rule.
    let free = machine.target.difference(&machine.nohz_full).difference(&machine.isolated);
    let free = free.difference(&CpuList::first(1));
    if free.is_empty() || !machine.named {
        return Vec::new();
    }
    let strays = names(machine.strays(&free).map(|task| task.name.as_str()), 4);
    let placed = match (strays.is_empty(), machine.tasks.is_empty()) {
        _ if machine.balanced_partition(&free).is_some() => {
            "A cpuset partition (root) has these CPUs, and balances its tasks among them.".to_owned()
        }
        (true, false) => {
            "No task that runs now may be placed there but pinned ones; new ones may.".to_owned()
        }
        _ => "The scheduler places any task there.".to_owned(),
    };
    let can_stop = machine.has("NO_HZ_FULL") != Some(false);
    let stays = if can_stop { "" } else { ", which this kernel cannot stop: it has no CONFIG_NO_HZ_FULL" };
    let message = match machine.reported_isolated() {
        Some(_) => format!("{} not isolated", cpus_are(&free)),
        None => format!("nothing on the command line isolates {}", cpus(&free)),
    };
    let finding = RULE
        .warning(message)
        .on(&free)
        .seen(machine.evidence(ISOLATED))
        .seen(machine.evidence(NOHZ_FULL))
        .seen(machine.balanced_partition(&free).and_then(|file| machine.evidence(file)))
        .so(format!("{placed} The tick comes HZ times a second while one runs{stays}."));
    if machine.online.difference(&machine.target).is_empty() {
        return vec![finding.advice("leave at least one CPU out, for housekeeping")];
    }
    if let Some(manager) = machine.manager() {
        let way = format!(
            "reserve the CPUs where they are managed ({}): a static CPU manager policy, a tuned profile or \
             CPUAffinity=; isolcpus=domain would keep all threads of a container on one CPU",
            manager.value
        );
        return vec![finding.seen([manager]).advice(way)];
    }
    let full = if can_stop { tick(&free) } else { nothing() };
    let missing = domain(machine, &free).and(&managed_irq(&free)).and(&full).and(&interrupts(machine));
    let finding =
        super::load_balanced::partition(finding.composed(machine.composed(&missing)), machine, &free);
    let by_parameter = !finding.fixes.iter().any(|fix| matches!(fix, Fix::Command(_)));
    vec![if by_parameter {
        finding
    } else {
        finding.advice(
            "a partition does less: what only a parameter removes stays on these CPUs until the reboot, and \
             is then reported (timers-of-others, callbacks-not-offloaded)",
        )
    }]
}
