// SPDX-License-Identifier: GPL-2.0-only
//! The files of a machine whose users chose the names in them: every rule, and every way to print the
//! findings.

// The text is the binary's, which no other crate can depend on.
#[path = "../../../dyntick/src/verbs/check/text.rs"]
mod text;

use crate::Pieces;
use dyntick_check::{Content, Machine, Report, Snapshot, sarif, script};
use text::Detail;

/// Paths with their files.
pub fn snapshot(bytes: &[u8]) {
    let mut files = Snapshot::default();
    for (path, content) in Pieces::split(bytes).0 {
        let content = match content {
            b"(denied)" => Content::Denied,
            b"(failed)" => Content::Failed("no such device".to_owned()),
            content => Content::Text(String::from_utf8_lossy(content).into_owned()),
        };
        files.insert(path, content);
    }
    judge(&files);
}

/// Applies all rules and renders what they found.
pub(super) fn judge(files: &Snapshot) {
    let Ok(machine) = Machine::new(files, None) else { return };
    let report = Report::of(&machine, files);
    for detail in [Detail::Line, Detail::Fix, Detail::Everything] {
        super::assert_clean(&dyntick_report::terminal(&text::document(&report, detail), 80, false));
    }
    assert_script(&script(&report));
    for json in [serde_json::to_string(&report), serde_json::to_string(&sarif(&report))] {
        let json = json.expect("a report is JSON");
        serde_json::from_str::<serde_json::Value>(&json).expect("what is written can be read");
    }
}

/// The script is run by root. That each line is a comment or a rule's own command is a test of
/// `dyntick-check`; here, that no name of a user is something that a shell expands.
fn assert_script(script: &str) {
    super::assert_clean(script);
    for line in script.lines().filter(|line| !line.starts_with('#')) {
        // A quote in a quoted text is '\\''.
        let bare: String = line.replace("'\\''", "").split('\'').step_by(2).collect();
        assert!(!["`", "$(", "${", "\\"].iter().any(|word| bare.contains(word)), "{line:?} in {script}");
    }
}
