// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick record` that is killed, that runs into its size limit, and that is explained from a file and from a pipe.
//! `DYNTICK` names the binary under test.

use crate::harness::dyntick;
use crate::harness::kills::{Random, files_in, instances_of, kill};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn record(file: &Path, more: &[&str]) -> Command {
    let mut command = dyntick();
    command.args(["record", "-C", "0", "-o"]).arg(file).args(more);
    command.args(["--", "sh", "-c", "i=0; while [ $i -lt 20 ]; do sleep 0.01; i=$((i+1)); done"]);
    command
}

/// True if this machine can be recorded at all.
fn can_record() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let output = record(&folder.path().join("x.dt"), &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let can = output.status.success();
    assert!(can || said.contains("recording needs root"), "{said}");
    if !can {
        eprintln!("skipped: {said}");
    }
    can
}

fn explain(file: &Path) -> Output {
    dyntick().args(["explain", "--json"]).arg(file).output().unwrap()
}

/// SIGTERM ends a recording and keeps it, if it had begun; SIGKILL leaves no file, and the next dyntick removes the
/// trace instance.
#[test]
fn kills_leave_nothing_but_complete_records() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut random, mut killed, mut kept) = (Random(42), Vec::new(), 0);
    let kills = if crate::harness::is_full() { 100 } else { 12 };
    for number in 0..kills {
        let file = folder.path().join(format!("{number}.dt"));
        let mut command = record(&file, &[]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(random.below(400)));
        kill(&child, if number % 2 == 0 { libc::SIGKILL } else { libc::SIGTERM });
        child.wait().unwrap();
        killed.push(child.id());
        if file.exists() {
            let output = explain(&file);
            assert!(output.status.success(), "{number}: {}", String::from_utf8_lossy(&output.stderr));
            std::fs::remove_file(&file).unwrap();
            kept += 1;
        }
        assert_eq!(files_in(folder.path()), [""; 0], "{number}");
    }
    assert!((1..kills).contains(&kept), "{kept} of {kills} were recorded before they were killed");
    assert!(explain(Path::new("/dev/null")).status.code() == Some(2));
    assert_eq!(instances_of(&killed), [""; 0].map(PathBuf::from));
}

#[test]
fn a_record_ends_at_its_size_and_says_so() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.dt");
    let output = record(&file, &["--max-size", "1K"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "the command's status: {said}");
    assert!(said.contains("recording ended after") && said.contains("--max-size"), "{said}");
    let explained: serde_json::Value = serde_json::from_slice(&explain(&file).stdout).unwrap();
    let notes = explained["notes"].to_string();
    assert!(notes.contains("--max-size"), "{notes}");
}

#[test]
fn a_record_is_read_from_a_pipe_as_from_its_file() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.dt");
    assert!(record(&file, &[]).output().unwrap().status.success());
    let piped = Command::new("sh")
        .args(["-c", "cat \"$1\" | \"$0\" explain --json /dev/stdin"])
        .arg(dyntick().get_program())
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&piped.stderr), "");
    assert_eq!(piped.stdout, explain(&file).stdout);
}
