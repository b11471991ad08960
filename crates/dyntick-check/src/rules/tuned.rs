// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "tuned",
    title: "tuned is running and may change these settings",
    severity: Severity::Note,
    reads: &[TASK_STAT, TASK_STATUS, TUNED_PROFILE],
    source: "tuned, profiles cpu-partitioning and realtime",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let Some(task) = machine.runs("tuned") else { return Vec::new() };
    if machine.target.is_empty() {
        return Vec::new();
    }
    let profile = machine.text(TUNED_PROFILE).unwrap_or("unknown");
    let finding = RULE
        .note(format!("tuned runs with the profile {profile}"))
        .seen([Evidence { file: task.file.clone(), value: "tuned".to_owned() }])
        .seen(machine.evidence(TUNED_PROFILE))
        .so("Settings made by hand may be overwritten when it restarts or its profile changes.")
        .advice("make the changes in the profile, as cpu-partitioning does");
    vec![finding]
}
