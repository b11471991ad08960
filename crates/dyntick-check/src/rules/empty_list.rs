// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "empty-list",
    title: "isolcpus=, nohz_full= or rcu_nocbs= without a list",
    severity: Severity::Note,
    reads: &[CMDLINE, TUNED_PROFILE, TASK_STAT, TASK_STATUS],
    source: "kernel/sched/isolation.c: housekeeping_setup; lib/bitmap.c: bitmap_parselist",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let is_empty = |outcome: &Outcome| *outcome == Outcome::Empty;
    let isolation = machine.asked.outcomes.iter().filter(|(_, outcome)| is_empty(outcome));
    let callbacks = machine.line.iter().filter(|word| *word == "rcu_nocbs=");
    let empty: Vec<&str> = isolation.map(|(parameter, _)| parameter.as_str()).chain(callbacks).collect();
    if empty.is_empty() {
        return Vec::new();
    }
    let (does, verb) = if empty.len() == 1 { ("it isolates", "is") } else { ("they isolate", "are") };
    let finding = RULE
        .note(format!("{} {verb} empty: {does} no CPU", in_order(empty.clone(), usize::MAX)))
        .seen(empty.iter().map(|parameter| said(parameter)))
        .seen(machine.evidence(TUNED_PROFILE))
        .so("Nothing was asked for, and nothing is refused. Before 5.18 a list that follows then differs from it, and \
             is dropped; the kernel of RHEL 7 takes an empty list for CPU 0.");
    let profile = machine.text(TUNED_PROFILE).filter(|_| machine.runs("tuned").is_some());
    vec![match profile {
        Some(profile) => finding.advice(format!(
            "name the CPUs in isolated_cores= of /etc/tuned/{}-variables.conf, or use another profile than {profile}",
            profile.split_ascii_whitespace().next().unwrap_or("realtime")
        )),
        None => empty.into_iter().fold(finding, Finding::unboot),
    }]
}
