// SPDX-License-Identifier: GPL-2.0-only
//! The plan as text and as JSON.

use crate::json;
use crate::output;
use anyhow::Result;
use dyntick_isolate::{Change, Plan, Request, Step, Subject};
use dyntick_model::text::clean_line;
use serde_json::json;

/// Prints each change; none is made.
pub fn print(plan: &Plan, request: &Request, json: bool) -> Result<()> {
    match json {
        true => output::json(&json::ISOLATE_CHANGES.of(&as_json(plan, request))),
        false => output::text(as_text(plan, request)),
    }
}

fn as_json(plan: &Plan, request: &Request) -> serde_json::Value {
    let step = |step: &Step| {
        let mut value = serde_json::to_value(&step.change).expect("plain data");
        value["subject"] = json!(step.subject);
        value["why"] = json!(step.subject.why());
        value["needs"] = json!(step.subject.needs());
        value
    };
    json!({
        "cpus": request.cpus,
        "changes": plan.steps().map(step).collect::<Vec<_>>(),
        "no_partition": plan.no_partition,
        "notes": plan.notes,
    })
}

fn as_text(plan: &Plan, request: &Request) -> String {
    let mut text = String::new();
    let mut subject = None;
    let mut kept = 0;
    let mut count = 0;
    for step in plan.steps() {
        let Some((what, old, new)) = line(&step.change) else {
            kept += 1;
            continue;
        };
        if subject.replace(step.subject) != Some(step.subject) {
            text += &format!(
                "\n{}: {}\n    needs {}\n",
                step.subject.name(),
                step.subject.why(),
                step.subject.needs()
            );
        }
        text += &(clean_line(&format!("    {what:<58} {old} → {new}")) + "\n");
        count += 1;
    }
    if kept > 0 {
        text += &format!(
            "\n{}: {kept} more would be put back if the kernel changes them\n",
            Subject::Threads.name()
        );
    }
    if let Some(reason) = &plan.no_partition {
        text += &format!("\nno cpuset partition: {reason}; tasks are moved one by one\n");
    }
    for note in &plan.notes {
        text += &format!("\nnote: {}\n", clean_line(note));
    }
    format!("Isolating CPU {} takes {count} changes; none was made.\n{text}", request.cpus)
}

/// What, from what, to what; none where nothing changes unless the kernel does it.
fn line(change: &Change) -> Option<(String, String, String)> {
    match change {
        Change::Setting { format, old, new, .. } if format.same(old, new) => None,
        Change::Affinity { old, new, .. } if old == new => None,
        Change::Setting { old, new, .. } => Some((change.target(), old.clone(), new.clone())),
        Change::Affinity { old, new, .. } => Some((change.target(), old.to_string(), new.to_string())),
        Change::Controller { .. } => Some((change.target(), "-cpuset".into(), "+cpuset".into())),
        Change::Partition { cpus, kind, .. } => Some((
            change.target(),
            "absent".into(),
            format!("{} partition of CPU {cpus}", kind.kernel_name()),
        )),
        Change::Folders { .. } => None,
    }
}
