// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "empty-list",
    title: "isolcpus=, nohz_full= or rcu_nocbs= without a list",
    severity: Severity::Warning,
    reads: &[CMDLINE, RELEASE, ISOLATED, TUNED_PROFILE, TASK_STAT, TASK_STATUS],
    source: "kernel/sched/isolation.c: housekeeping_setup; lib/bitmap.c: bitmap_parselist",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    // A word that is taken for a flag, e.g. isolcpus=all, is a different mistake.
    let has_no_list = |parameter: &str, outcome: &Outcome| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        *outcome == Outcome::Empty && machine.corrected(name, value).is_none()
    };
    let outcomes = machine.asked.outcomes.iter();
    let isolation = outcomes.filter(|(parameter, outcome)| has_no_list(parameter, outcome));
    let callbacks = machine.line.iter().filter(|word| *word == "rcu_nocbs=");
    let empty: Vec<&str> = isolation.map(|(parameter, _)| parameter.as_str()).chain(callbacks).collect();
    if empty.is_empty() {
        return Vec::new();
    }
    let quoted: Vec<String> = empty.iter().map(|parameter| format!("'{parameter}'")).collect();
    let (does, verb) = if empty.len() == 1 { ("it isolates", "is") } else { ("they isolate", "are") };
    // RHEL 7: `lib/bitmap.c: __bitmap_parselist`.
    if machine.kernel.release.contains(".el7") {
        let finding = RULE
            .warning(format!("{} {verb} empty, which this kernel takes for CPU 0", quoted.join(", ")))
            .seen(empty.iter().map(|parameter| said(parameter)))
            .seen(machine.evidence(ISOLATED))
            .so("The boot CPU is set apart, and no other one.");
        return vec![empty.into_iter().fold(finding, Finding::unboot)];
    }
    let finding = RULE
        .note(format!("{} {verb} empty: {does} no CPU", quoted.join(", ")))
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
