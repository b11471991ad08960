// SPDX-License-Identifier: GPL-2.0-only
//! The errors of the live verbs for wrong input: one line that names the fault once, and the fix.

use crate::harness::{dyntick, schema::assert_valid};
use dyntick_contract::{Failure, FailureKind};

/// The output of dyntick on standard error. The exit status must be that of a wrong input.
fn told(arguments: &[&str]) -> String {
    let output = dyntick().args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "dyntick {arguments:?}: {told}");
    told
}

/// A CPU that no machine has which runs tests.
const NO_CPU: &str = "4095";

#[test]
fn a_cpu_that_does_not_run_is_named_once_by_every_verb() {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let expected = format!("CPU {NO_CPU} is not online; online: {}", online.trim());
    let verbs: &[&[&str]] = &[
        &["check"],
        &["stat", "--timeout", "1"],
        &["top", "-b", "-n", "1"],
        &["export"],
        &["explain"],
        &["record", "-o", "/dev/null"],
        &["isolate"],
    ];
    for verb in verbs {
        let arguments = [*verb, &["-C", NO_CPU]].concat();
        let command = if verb[0] == "check" || verb[0] == "export" || verb[0] == "top" {
            &[][..]
        } else {
            &["--", "true"]
        };
        let told = told(&[&arguments[..], command].concat());
        assert_eq!(told.lines().collect::<Vec<_>>(), [format!("dyntick: {expected}")], "{verb:?}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named_once() {
    for arguments in [
        &["explain", "/no/such"][..],
        &["compare", "/no/such", "/no/such"],
        &["check", "--from", "/no/such"],
        &["record", "-C", "0", "-o", "/no/such/x.dt", "--", "true"],
        &["stat", "-o", "/no/such/x", "--timeout", "1"],
        &["latency", "-l", "1", "--why", "1", "--html", "/no/such/x"],
    ] {
        let told = told(arguments);
        let (lines, names) = (told.lines().count(), told.matches("/no/such").count());
        // Where a folder is missing it is named beside the file.
        assert!(lines == 1 && names <= 1 + usize::from(told.contains("there is no folder")), "{told}");
        for word in ["cannot read", "No such file", "cannot write"] {
            assert!(told.matches(word).count() <= 1, "{told}");
        }
    }
}

#[test]
fn no_cpu_at_all_is_told_as_that() {
    for verb in [&["stat", "--timeout", "1"][..], &["top", "-b", "-n", "1"]] {
        let told = told(&[verb, &["-C", ""]].concat());
        assert!(told.starts_with("dyntick: -C names no CPU; online: "), "{told}");
    }
}

#[test]
fn error_is_printed_as_json_in_place_of_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.toml");
    std::fs::write(&study, "title = 't'\nno_such_key = 1\n").unwrap();
    let (study, missing) = (study.to_str().unwrap(), folder.path().join("no").display().to_string());
    for (arguments, file, line) in [
        (&["lab", "bench", study, "--json"][..], Some(study), Some(1)),
        (&["explain", &missing, "--json"], Some(&missing), None),
        (&["compare", &missing, study, "--json"], Some(&missing), None),
        (&["stat", "-C", NO_CPU, "--json"], None, None),
    ] {
        let output = dyntick().args(arguments).output().unwrap();
        assert_valid("dyntick-failure", &serde_json::from_slice(&output.stdout).unwrap());
        let failure: Failure = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((failure.kind, failure.line, output.status.code()), (FailureKind::Input, line, Some(2)));
        assert_eq!(failure.file.as_deref(), file, "{failure:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(&failure.text), "{failure:?}");
    }
    for arguments in [&["explain", "--json", &missing, "-o", "/dev/null"][..], &["check", "--from", &missing]]
    {
        assert!(dyntick().args(arguments).output().unwrap().stdout.is_empty(), "{arguments:?}");
    }
}
