// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "callbacks-not-offloaded",
    title: "RCU callbacks of an isolated CPU are not offloaded and run on it",
    severity: Severity::Warning,
    reads: &[CMDLINE, NOHZ_FULL, CONFIG_GZ, BOOT_CONFIG, MODULES_CONFIG],
    source: "kernel/rcu/tree_nocb.h: rcu_init_nohz (nohz_full is always among the offloaded)",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let hit = machine.of_target(&machine.isolated).difference(&offloaded(machine));
    // RHEL 7 takes an empty list for CPU 0, which has its own rule.
    let by_empty_list = machine.asked.outcomes.iter().any(|(_, outcome)| *outcome == Outcome::Empty);
    let hit = if by_empty_list { hit.difference(&CpuList::first(1)) } else { hit };
    if hit.is_empty() || machine.has("RCU_NOCB_CPU") == Some(false) {
        return Vec::new();
    }
    let finding = RULE
        .warning(format!("the RCU callbacks of {} also run there", cpus(&hit)))
        .on(&hit)
        .seen(machine.said("rcu_nocbs").or_else(|| machine.said("isolcpus")))
        .so(if in_threads(machine) {
            "They run in the rcuc/N threads, at their own priority, whenever and for as long as RCU needs."
        } else {
            "They run in softirq context, whenever and for as long as RCU needs."
        })
        .composed(machine.composed(&callbacks(&hit)));
    vec![finding]
}

/// The CPUs whose callbacks run in kernel threads.
pub(super) fn offloaded(machine: &Machine<'_>) -> CpuList {
    let all = CpuList::first(machine.possible);
    let by_default = machine.has("RCU_NOCB_CPU_DEFAULT_ALL") == Some(true);
    let named = match machine.line.get("rcu_nocbs") {
        Some("") => CpuList::default(),
        Some("all") => all,
        Some(list) => machine.reader().list(list).unwrap_or(all),
        None if by_default && machine.nohz_full.is_empty() => all,
        None => CpuList::default(),
    };
    named.union(&machine.asked.tick)
}

/// Returns true unless `use_softirq` (`kernel/rcu/tree.c`) is on; PREEMPT_RT has it off by default.
fn in_threads(machine: &Machine<'_>) -> bool {
    let said = machine.line.get("rcutree.use_softirq").and_then(boolean);
    !said.unwrap_or(!machine.is_rt())
}
