// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "isolcpus-without-domain",
    title: "isolcpus= with flags but without domain",
    severity: Severity::Warning,
    reads: &[CMDLINE, ISOLATED, PARTITION, PARTITION_2, PARTITION_3, TUNED_PROFILE, TASK_STAT, TASK_CGROUP],
    source: "kernel/sched/isolation.c: housekeeping_isolcpus_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    find_one(machine).into_iter().collect()
}

fn find_one(machine: &Machine<'_>) -> Option<Finding> {
    let flagged = concerned(machine);
    if flagged.is_empty() {
        return None;
    }
    let value = machine.line.get("isolcpus").unwrap_or_default();
    let message = if machine.asked.tick.is_empty() {
        format!(
            "'isolcpus={value}' only keeps managed interrupts off {}: they are still load balanced",
            cpus(&flagged)
        )
    } else {
        format!("'isolcpus={value}' does not take {} out of load balancing", cpus(&flagged))
    };
    // If nohz_full= has the same CPUs, tuned's own parameter does not show intention.
    let is_sign = |manager: &Evidence| {
        machine.asked.tick.is_empty() || !manager.value.starts_with("tuned.non_isolcpus")
    };
    let manager = machine.manager().filter(is_sign);
    let severity = if manager.is_some() { Severity::Note } else { Severity::Warning };
    let finding = RULE
        .finding(severity, message)
        .on(&flagged)
        .seen(machine.said("isolcpus"))
        .seen(machine.evidence(ISOLATED))
        .so("If a flag is given, only what the flags name is isolated: the scheduler still places tasks there.");
    Some(match manager {
        Some(manager) => {
            let way =
                format!("leave it so if the CPUs are kept free by affinity on purpose ({})", manager.value);
            finding.seen([manager]).advice(way)
        }
        None => finding.composed(machine.composed(&domain(machine, &flagged))),
    })
}

/// The CPUs that `isolcpus=` names only under other flags, and that nothing else isolates.
pub(super) fn concerned(machine: &Machine<'_>) -> CpuList {
    // Counts all parameters that the kernel follows, not only the last.
    let ignores = |(ignored, outcome): &(String, Outcome), word: &str| {
        ignored == word && !matches!(outcome, Outcome::SkippedFlag(_))
    };
    let is_followed = |word: &&str| !machine.asked.outcomes.iter().any(|outcome| ignores(outcome, word));
    let words = machine.line.iter().filter(is_followed);
    let values = words.filter_map(|word| word.split_once('=')).filter(|(name, _)| *name == "isolcpus");
    let flags: Vec<&str> = values.flat_map(|(_, value)| value.split(',')).collect();
    // A refused parameter that asked for it has a finding that suggests it again.
    if !machine.asked.domain.is_empty() || !machine.wanted().domain.is_empty() {
        return CpuList::default();
    }
    let under =
        |flag: &str, cpus: &CpuList| if flags.contains(&flag) { cpus.clone() } else { CpuList::default() };
    let named = under("nohz", &machine.asked.tick).union(&under("managed_irq", &machine.asked.managed_irq));
    let named = if machine.named { machine.of_target(&named) } else { named.intersection(&machine.online) };
    // The boot CPU must remain for everything else.
    named.difference(&machine.isolated).difference(&CpuList::first(1))
}
