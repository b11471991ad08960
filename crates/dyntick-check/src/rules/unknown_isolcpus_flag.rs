// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "unknown-isolcpus-flag",
    title: "An unknown flag of isolcpus=, which the kernel skips",
    severity: Severity::Error,
    reads: &[CMDLINE],
    source: "kernel/sched/isolation.c: housekeeping_isolcpus_setup",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let judge = |(parameter, outcome): &(String, Outcome)| {
        let Outcome::SkippedFlag(word) = outcome else { return None };
        let finding = RULE
            .error(match word.as_str() {
                "all" | "N" => {
                    format!("'{parameter}' isolates nothing: every kernel takes '{word}' for a flag there")
                }
                _ => format!("the kernel skips the flag '{word}' in '{parameter}'"),
            })
            .seen(refused_parameter::log_about_isolation(machine))
            .seen([said(parameter)])
            .so("Only domain, nohz and managed_irq are flags; if none of them is left, domain applies.");
        let composed = machine.composed(&nothing());
        let says =
            composed.iter().flat_map(|composed| &composed.with).any(|word| word.starts_with("isolcpus="));
        Some(if says { finding.composed(composed) } else { finding.advice("boot with isolcpus=domain,LIST") })
    };
    machine.asked.outcomes.iter().filter_map(judge).collect()
}
