// SPDX-License-Identifier: GPL-2.0-only
//! The plan as text.

use dyntick_isolate::{Change, Plan, Request, Step, Subject};
use dyntick_model::text::clean_line;

/// Each change; only the first ones of many threads, unless all are requested.
pub fn as_text(plan: &Plan, request: &Request, all: bool) -> String {
    // Root has all privileges that a change needs.
    let is_root = rustix::process::geteuid().is_root();
    let mut text = String::new();
    let mut count = 0;
    let mut kept = 0;
    let steps: Vec<&Step> = plan.steps().collect();
    for group in steps.chunk_by(|one, next| one.subject == next.subject) {
        let lines: Vec<String> = group.iter().filter_map(|step| line(&step.change)).collect();
        count += lines.len();
        kept += group.len() - lines.len();
        if let (Some(first), false) = (group.first(), lines.is_empty()) {
            text += &described(first.subject, is_root, &lines, all);
        }
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

/// A group of changes with its purpose.
fn described(subject: Subject, is_root: bool, lines: &[String], all: bool) -> String {
    /// The number of threads that represent all others.
    const SOME: usize = 5;
    let mut text = format!("\n{}: {}\n", subject.name(), subject.why());
    if !is_root {
        text += &format!("    needs {}\n", subject.needs());
    }
    let fold = subject == Subject::Threads && !all && lines.len() > 2 * SOME;
    let shown = if fold { SOME } else { lines.len() };
    text.extend(lines[..shown].iter().map(|line| clean_line(&format!("    {line}")) + "\n"));
    if fold {
        text += &format!("    … and {} more threads (-v prints them)\n", lines.len() - shown);
    }
    text
}

/// The object, the old and the new value; `None` if only the kernel might change it.
fn line(change: &Change) -> Option<String> {
    let (old, new) = match change {
        Change::Setting { format, old, new, .. } if format.same(old, new) => return None,
        Change::Affinity { old, new, .. } if old == new => return None,
        Change::Folders { .. } => return None,
        Change::Setting { old, new, .. } => (old.clone(), new.clone()),
        Change::Affinity { old, new, .. } => (old.to_string(), new.to_string()),
        Change::Controller { .. } => ("-cpuset".into(), "+cpuset".into()),
        Change::Partition { cpus, kind, .. } => {
            ("absent".into(), format!("{} partition of CPU {cpus}", kind.kernel_name()))
        }
    };
    Some(format!("{:<58} {old} → {new}", change.target()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: u32) -> Vec<String> {
        (0..count).map(|number| format!("thread{number} [{number}]   0-1 → 0")).collect()
    }

    #[test]
    fn needs_are_shown_only_to_other_users_than_root() {
        let text = |is_root| described(Subject::VmStat, is_root, &lines(1), false);
        assert!(text(false).contains("    needs root (sysctl)\n"), "{}", text(false));
        assert!(!text(true).contains("needs"), "{}", text(true));
    }

    #[test]
    fn many_threads_are_abbreviated_and_settings_never() {
        let text = described(Subject::Threads, true, &lines(60), false);
        assert!(
            text.ends_with("thread4 [4]   0-1 → 0\n    … and 55 more threads (-v prints them)\n"),
            "{text}"
        );
        assert_eq!(described(Subject::Threads, true, &lines(60), true).lines().count(), 62);
        assert_eq!(described(Subject::Threads, true, &lines(10), false).lines().count(), 12);
        assert_eq!(described(Subject::Interrupts, true, &lines(60), false).lines().count(), 62);
    }
}
