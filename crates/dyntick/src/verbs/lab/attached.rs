// SPDX-License-Identifier: GPL-2.0-only
//! The study and the subjects of its patches, below a mail: with them its readers can repeat it.

use dyntick_lab::lab::CaseResult;
use dyntick_lab::plan::KernelPatch;
use dyntick_model::shipped::PATCHES;
use dyntick_model::text::shortened;
use dyntick_study::shipped;
use sha2::{Digest, Sha256};
use std::path::Path;

/// A study of more lines than a mail may have is named, and not appended.
const MOST_LINES: usize = 40;

/// The largest study and the largest patch that are read, bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The longest subject, characters.
const LONGEST: usize = 200;

/// The text below the mail of a study that was given by this name or path.
pub fn below_mail(study: &Path, results: &[CaseResult]) -> anyhow::Result<String> {
    let (name, text) = if shipped::is_path(study) {
        let name = study.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, dyntick_system::read_named(study, MOST_BYTES)?)
    } else {
        let name = study.to_string_lossy().into_owned();
        let text = shipped::text(&name)?.to_owned();
        (name, text)
    };
    Ok(subjects(results) + &of_study(&name, &text, !shipped::is_path(study)))
}

/// The study, or where it is from.
fn of_study(name: &str, text: &str, is_shipped: bool) -> String {
    let lines = text.lines().count();
    let about = format!("{name} ({lines} lines, SHA-256 {})", hash(text));
    if lines <= MOST_LINES {
        return format!("\n----- study {about}\n{}\n----- end of the study\n", text.trim_end());
    }
    let from = if is_shipped {
        format!("dyntick lab studies {name} prints it")
    } else {
        "too long for a mail: attach the file".to_owned()
    };
    format!("\nStudy {about}: {from}\n")
}

/// A line for each patch of the kernels that ran, if its file is still the one that was built.
fn subjects(results: &[CaseResult]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for run in results.iter().filter_map(|result| result.run.as_ref().ok()) {
        for patch in run.plan.kernel_parts.iter().flat_map(|parts| &parts.patches) {
            let line = line(patch);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    if lines.is_empty() { String::new() } else { format!("\nPatches:\n{}", lines.concat()) }
}

fn line(patch: &KernelPatch) -> String {
    let file = Path::new(&patch.name).file_name().unwrap_or_default().to_string_lossy();
    let text = match PATCHES.find(&patch.name) {
        Some((_, text)) => Some(text),
        None => dyntick_system::read_named(Path::new(&patch.name), MOST_BYTES).ok(),
    };
    let is_built = |text: &String| patch.sha256.as_ref().is_some_and(|known| *known == hash(text));
    match text.filter(is_built).and_then(|text| subject(&text)) {
        Some(subject) => format!("  {file}: {subject}\n"),
        None => format!("  {file}: no subject\n"),
    }
}

/// The subject in the head of a patch by git format-patch(1), without its prefix; it may go on in further lines.
fn subject(text: &str) -> Option<String> {
    let head = text.lines().take_while(|line| !line.starts_with("diff ") && !line.starts_with("--- "));
    let mut lines = head.skip_while(|line| !line.starts_with("Subject:"));
    let mut subject = lines.next()?.strip_prefix("Subject:")?.trim().to_owned();
    for line in lines.take_while(|line| line.starts_with([' ', '\t'])) {
        subject = format!("{subject} {}", line.trim());
    }
    let bare = subject.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(_, rest)| rest.trim());
    Some(shortened(bare.unwrap_or(&subject), LONGEST))
}

fn hash(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_study_is_appended_and_a_long_one_named() {
        let short = of_study("mine.toml", "title = 't'\n", false);
        assert!(short.starts_with("\n----- study mine.toml (1 lines, SHA-256 "), "{short}");
        assert!(short.ends_with("\ntitle = 't'\n----- end of the study\n"));
        let long = "#\n".repeat(MOST_LINES + 1);
        assert!(of_study("hz-matrix", &long, true).ends_with("dyntick lab studies hz-matrix prints it\n"));
        assert!(of_study("mine.toml", &long, false).ends_with("attach the file\n"));
    }

    #[test]
    fn subject_of_a_patch_may_have_two_lines() {
        let patch = "From 1 Mon\nSubject: [PATCH v2 1/3] sched: start the server\n only where it is needed\n\nSubject: no\n";
        assert_eq!(subject(patch).unwrap(), "sched: start the server only where it is needed");
        assert_eq!(subject("--- a/x\n+++ b/x\nSubject: in the text\n"), None);
    }

    #[test]
    fn changed_patch_has_no_subject() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.patch");
        let text = "Subject: x: y\n\n--- a/x\n";
        std::fs::write(&path, text).unwrap();
        let patch = |sha256: &str| KernelPatch {
            name: path.display().to_string(),
            files: Some(1),
            sha256: Some(sha256.to_owned()),
        };
        assert_eq!(line(&patch(&hash(text))), "  a.patch: x: y\n");
        assert_eq!(line(&patch("0")), "  a.patch: no subject\n");
    }
}
