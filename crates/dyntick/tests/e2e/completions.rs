// SPDX-License-Identifier: GPL-2.0-only
//! The command line as shells and man(1) see it.

use crate::harness::dyntick;
use std::process::Command;

fn script(shell: &str) -> String {
    let output = dyntick().args(["completions", shell]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// bash itself completes `words`, of which the last is being typed.
fn completed(words: &[&str]) -> Vec<String> {
    let asked = format!(
        "{}\nCOMP_WORDS=({}); COMP_CWORD={}; _dyntick dyntick '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script("bash"),
        words.join(" "),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let output = Command::new("bash").args(["--norc", "-c", &asked]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_verbs_and_flags() {
    assert_eq!(completed(&["dyntick", "la"]), ["lab", "latency"]);
    assert_eq!(completed(&["dyntick", "lab", "ver"]), ["verify"]);
    assert!(completed(&["dyntick", "check", "--for"]).contains(&"--format".to_owned()));
    assert!(!completed(&["dyntick", "gu"]).iter().any(|word| word.starts_with("guest")), "they are hidden");
}

#[test]
fn a_verb_of_the_laboratory_is_found_without_lab() {
    for (verb, is_of_lab) in [("run", true), ("shell", true), ("nonsense", false)] {
        let output = dyntick().arg(verb).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(told.contains(&format!("dyntick lab {verb}")), is_of_lab, "{told}");
    }
}

#[test]
fn other_shells_know_the_verbs() {
    for shell in ["zsh", "fish"] {
        let script = script(shell);
        assert!(script.contains("isolate") && !script.contains("guest-probe"), "{shell}");
    }
}

#[test]
fn each_verb_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("man1");
    assert!(dyntick().arg("man").arg(&place).status().unwrap().success());
    for page in ["dyntick.1", "dyntick-stat.1", "dyntick-lab.1", "dyntick-lab-run.1"] {
        let text = std::fs::read_to_string(place.join(page)).unwrap();
        assert!(text.contains(".TH") && text.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(std::fs::read_to_string(place.join("dyntick.1")).unwrap().contains("Exit status: 0 ok"));
    assert!(!place.join("dyntick-guest-probe.1").exists(), "it is hidden");
}
