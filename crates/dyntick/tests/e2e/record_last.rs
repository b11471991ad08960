// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick record --last`: what came last is kept, snapshots are taken when they should, and who is killed leaves
//! nothing. `DYNTICK` names the binary under test.

use crate::harness::dyntick;
use crate::harness::kills::{files_in, instances_of, kill};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Records CPU 0 into `x.dt` of a folder while a shell runs there.
fn record(folder: &Path, more: &[&str], script: &str) -> Command {
    let mut command = dyntick();
    command.current_dir(folder).args(["record", "-C", "0", "-o", "x.dt", "--last", "100ms"]).args(more);
    command.args(["--", "sh", "-c", script]);
    command
}

/// A folder, if this machine can be recorded at all.
fn folder() -> Option<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let output = record(folder.path(), &[], "true").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let can = output.status.success();
    assert!(can || said.contains("recording needs root"), "{said}");
    if can {
        std::fs::remove_file(folder.path().join("x.dt")).unwrap();
        return Some(folder);
    }
    eprintln!("skipped: {said}");
    None
}

/// Runs it and returns what it said; the status is to be that of the shell, 7.
fn said(mut command: Command) -> String {
    let Output { status, stderr, .. } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(status.code(), Some(7), "{said}");
    said
}

fn explained(file: &Path) -> Value {
    let output = dyntick().args(["explain", "--json"]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Waits for these files, at most a minute, sleeping often.
fn until(files: &str) -> String {
    format!(
        "n=0; while ! ls {files} > /dev/null 2>&1 && [ $n -lt 6000 ]; do sleep 0.01; n=$((n+1)); done; exit 7"
    )
}

#[test]
fn only_what_came_last_is_in_the_record() {
    let Some(folder) = folder() else { return };
    let script = "i=0; while [ $i -lt 30 ]; do sleep 0.01; i=$((i+1)); done; exit 7";
    said(record(folder.path(), &[], script));
    assert_eq!(files_in(folder.path()), ["x.dt"]);
    let explained = explained(&folder.path().join("x.dt"));
    assert_eq!(explained["seconds"], 0.1);
    assert!(explained["cpus"][0]["interruptions"].as_u64() > Some(0), "{explained}");
}

#[test]
fn a_signal_takes_a_snapshot_and_recording_goes_on() {
    let Some(folder) = folder() else { return };
    let script = format!("kill -USR1 $PPID; {}", until("x.1.dt"));
    let said = said(record(folder.path(), &[], &script));
    assert!(said.contains("snapshot x.1.dt: SIGUSR1"), "{said}");
    assert_eq!(files_in(folder.path()), ["x.1.dt", "x.dt"]);
    let snapshot = explained(&folder.path().join("x.1.dt"));
    assert!(snapshot["notes"].to_string().contains("taken on SIGUSR1"), "{snapshot}");
    assert!(!explained(&folder.path().join("x.dt"))["notes"].to_string().contains("snapshot"));
}

#[test]
fn a_long_interruption_takes_as_many_snapshots_as_there_may_be() {
    let Some(folder) = folder() else { return };
    let more = ["--when-interrupted", "0", "--max-snapshots", "2"];
    let said = said(record(folder.path(), &more, &until("x.1.dt x.2.dt")));
    assert_eq!(files_in(folder.path()), ["x.1.dt", "x.2.dt", "x.dt"]);
    let snapshot = explained(&folder.path().join("x.1.dt"));
    let note = snapshot["notes"].to_string();
    assert!(note.contains("taken because an interruption of CPU 0 ("), "{note}");
    // What explain finds in it has the interruption for which it was taken.
    let line = said.lines().find(|line| line.contains("x.1.dt")).unwrap();
    let us: f64 = line.rsplit_once("took ").unwrap().1.trim_end_matches(" µs").parse().unwrap();
    let longest = snapshot["cpus"][0]["causes"].as_array().unwrap().iter();
    let longest = longest.filter_map(|cause| cause["durations_ns"]["max"].as_f64()).fold(0.0, f64::max);
    assert!(longest >= us * 1e3 - 50.0, "{line}: the longest is {longest} ns");
}

#[test]
fn a_late_wakeup_takes_a_snapshot() {
    let Some(folder) = folder() else { return };
    let said = said(record(
        folder.path(),
        &["--when-late", "0"],
        &format!("taskset -p -c 0 $$; {}", until("x.1.dt")),
    ));
    assert_eq!(files_in(folder.path()), ["x.1.dt", "x.dt"]);
    let line = said.lines().find(|line| line.contains("x.1.dt")).unwrap();
    assert!(line.contains("] ran on CPU 0 ") && line.contains(" µs after it"), "{line}");
}

#[test]
fn snapshots_need_a_file_and_a_ring() {
    let refused = |arguments: &[&str]| {
        let output = dyntick().args(["record", "-C", "0"]).args(arguments).arg("true").output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(
        refused(&["--last", "1s", "-o", "/dev/null", "--"]).contains("--last needs a regular file with -o")
    );
    assert!(refused(&["--when-late", "5", "--"]).contains("--last"));
    assert!(refused(&["--last", "0s", "--"]).contains("e.g. 30s"));
}

#[test]
fn kills_leave_nothing_but_complete_records() {
    let Some(folder) = folder() else { return };
    let mut kept = 0;
    let kills = if crate::harness::is_full() { 30 } else { 12 };
    for number in 0..kills {
        let script = "i=0; while [ $i -lt 20 ]; do sleep 0.01; i=$((i+1)); done";
        let mut command = record(folder.path(), &["--when-interrupted", "0"], script);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(number * 37 % 400));
        kill(&child, if number % 2 == 0 { libc::SIGKILL } else { libc::SIGTERM });
        child.wait().unwrap();
        for file in files_in(folder.path()) {
            assert!(["x.1.dt", "x.dt"].contains(&file.as_str()), "{file}");
            let file = folder.path().join(file);
            explained(&file);
            std::fs::remove_file(file).unwrap();
            kept += 1;
        }
        let left = instances_of(&[child.id()]);
        // The next dyntick removes what a killed one has left.
        assert!(number % 2 == 0 || left.is_empty(), "{left:?}");
    }
    assert!(kept > 0);
}
