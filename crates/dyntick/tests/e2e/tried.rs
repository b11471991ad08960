// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab try`: what patches do, from a mail to the answer. `make test-kernels` runs what compiles a kernel.

use crate::harness::{dyntick_in, text};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// Mails as they come: written for these tests after descriptions of the changes.
const MAILS: [(&str, &str); 6] = [
    ("tick-stop-fast-path.mbox", include_str!("tried/tick-stop-fast-path.mbox")),
    ("tick-early-return.mbox", include_str!("tried/tick-early-return.mbox")),
    ("menu-margin.mbox", include_str!("tried/menu-margin.mbox")),
    ("menu-safe-range.mbox", include_str!("tried/menu-safe-range.mbox")),
    ("menu-before-6.12.75.mbox", include_str!("tried/menu-before-6.12.75.mbox")),
    ("teo-safe-range.mbox", include_str!("tried/teo-safe-range.mbox")),
];

/// Semantic patches that apply to any version, with the outcome of each and the beginning of its answer.
const FAULTS: [(&str, &str, &str, &str); 4] = [
    ("panic", "panic(\"tried\");", "fails", " fails with it"),
    ("hang", "for (;;) cpu_relax();", "fails", " fails with it"),
    ("warn", "WARN_ON(1);", "warns", " warns with it: WARNING:"),
    ("broken", "no_such_function();", "does-not-build", "It does not build on debian:6.12"),
];

fn tried(folder: &Path, arguments: &[&str]) -> Output {
    dyntick_in(folder, &[&["lab", "try"], arguments].concat())
}

fn outcome(folder: &Path, arguments: &[&str], status: i32) -> Value {
    let output = tried(folder, &[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["format"], "dyntick-lab-try");
    json
}

#[test]
fn what_is_no_patch_and_what_does_not_apply_is_said_before_anything_is_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("hello.mbox"), "From: a\nSubject: hello\n\nno patch\n").unwrap();
    let refused = tried(path, &["hello.mbox"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("it has no patch"), "{}", text(&refused.stderr));

    let moved = MAILS[1].1.replace("TICK_DEP_MASK_POSIX_TIMER", "TICK_DEP_MASK_OTHER");
    std::fs::write(path.join("moved.mbox"), moved + "base-commit: 0123456789ab\n").unwrap();
    let output = tried(path, &["moved.mbox"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["It does not apply to debian:6.12", "tick-sched.c", "Hunk #1", "commit 0123456789ab"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let misspelt = tried(path, &["moved.mbox", "--suite", "tik"]);
    assert_eq!(misspelt.status.code(), Some(2), "{}", text(&misspelt.stdout));
}

#[test]
#[ignore = "builds kernels: make test-kernels"]
fn patches_of_mails_have_their_effects() {
    let folder = tempfile::tempdir().unwrap();
    for (name, mail) in MAILS {
        std::fs::write(folder.path().join(name), mail).unwrap();
        let json = outcome(folder.path(), &[name], 0);
        let base = &json["bases"][0];
        eprintln!("{name}: {}", base["outcome"]);
        let changed: Vec<&str> =
            base["sizes"].as_array().unwrap().iter().filter_map(|size| size["function"].as_str()).collect();
        assert!(!changed.is_empty(), "{name}: the text of a function has another size");
        let figures = |figure: &str| -> Vec<&Value> {
            let all =
                base["cases"].as_array().unwrap().iter().flat_map(|case| case["figures"].as_array().unwrap());
            all.filter(|effect| effect["figure"] == figure && effect["is_shown"] == true).collect()
        };
        // As the book's chapter has it: no timer interrupt is saved.
        assert!(!name.starts_with("tick") || figures("local_timer_per_s").is_empty(), "{name}: {base:#}");
    }
    let mail = tried(folder.path(), &["tick-early-return.mbox", "--format", "mail"]);
    let mail = text(&mail.stdout);
    assert!(mail.lines().count() <= 60 && mail.lines().all(|line| line.chars().count() <= 72), "{mail}");
    assert!(!mail.contains("Tested-by"), "{mail}");
}

#[test]
#[ignore = "builds kernels: make test-kernels"]
fn a_comment_changes_nothing_and_each_fault_is_the_first_line() {
    let folder = tempfile::tempdir().unwrap();
    let rule = |name: &str, line: &str| {
        let text =
            format!("// Files: kernel/time/tick-common.c\n@@\n@@\ntick_init(void)\n{{\n+\t{line}\n...\n}}\n");
        std::fs::write(folder.path().join(format!("{name}.cocci")), text).unwrap();
    };
    rule("comment", "/* nothing */");
    let json = outcome(folder.path(), &["comment.cocci", "--suite", "tick"], 0);
    let base = &json["bases"][0];
    assert_eq!(
        (base["outcome"].as_str(), base["sizes"].as_array().map(Vec::len)),
        (Some("identical"), Some(0))
    );
    for (name, line, expected, words) in FAULTS {
        rule(name, line);
        let file = format!("{name}.cocci");
        let json = outcome(folder.path(), &[&file, "--suite", "tick"], 1);
        assert_eq!(json["bases"][0]["outcome"], expected, "{json:#}");
        let page = text(&tried(folder.path(), &[&file, "--suite", "tick"]).stdout);
        let first = page.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or_default();
        assert!(first.contains(words), "{name}: {page}");
    }
}
