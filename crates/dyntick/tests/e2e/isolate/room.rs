// SPDX-License-Identifier: GPL-2.0-only
//! The journal cannot grow when the way back begins, and others have moved threads meanwhile.

use super::kills::guardians;
use super::snapshot::Snapshot;
use dyntick_isolate::Journal;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SLEEPERS: usize = 20;
/// The report goes through a pipe, for which there is no limit.
const ISOLATE: [&str; 8] = ["isolate", "-C", "3", "--json", "-o", "-", "--", "busybox"];

fn pin(sleepers: &[Child], cpus: &str) {
    for sleeper in sleepers {
        let pid = sleeper.id().to_string();
        let taskset = Command::new("busybox").args(["taskset", "-pc", cpus, &pid]).output().unwrap();
        assert!(taskset.status.success(), "{}", String::from_utf8_lossy(&taskset.stderr));
    }
}

/// Limits the size of files as `ulimit -f` does, so that a tenth of a record still fits.
fn limit(pid: i32) {
    let length = std::fs::metadata(Journal::default_path()).unwrap().len() + 10;
    let limit = libc::rlimit { rlim_cur: length, rlim_max: length };
    // SAFETY: the structure lives across the call, and nothing is written back.
    assert_eq!(unsafe { libc::prlimit(pid, libc::RLIMIT_FSIZE, &limit, std::ptr::null_mut()) }, 0);
}

fn wait_for(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An isolate whose command runs, and whose journal, and its guardian's, may not grow.
fn isolated() -> Child {
    let mut isolate = Command::new("dyntick");
    let isolate = isolate
        .args(ISOLATE)
        .args(["sleep", "2"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let members = "/sys/fs/cgroup/dyntick-isolate/cgroup.procs";
    wait_for("no command", || std::fs::read_to_string(members).is_ok_and(|text| !text.is_empty()));
    limit(isolate.id() as i32);
    guardians().into_iter().for_each(limit);
    isolate
}

#[test]
#[ignore = "runs in a guest"]
fn the_journal_is_full() {
    let sleeper = |_| Command::new("busybox").args(["sleep", "1000000"]).spawn().unwrap();
    let mut sleepers: Vec<Child> = (0..SLEEPERS).map(sleeper).collect();
    pin(&sleepers, "2");
    let once = Command::new("dyntick").args(ISOLATE).arg("true").output().unwrap();
    assert!(once.status.success());
    let before = Snapshot::take();

    pin(&sleepers, "1");
    let child = isolated();
    pin(&sleepers, "2");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    println!("{}", report["restored"]);
    assert_eq!(report["restored"]["failed"], serde_json::json!([]));
    let note = report["restored"]["notes"][0].as_str().unwrap();
    assert!(note.contains(&format!("of {SLEEPERS} threads")) && note.contains("File too large"), "{note}");
    assert_eq!(Snapshot::take().differences(&before), [""; 0], "after its end");

    pin(&sleepers, "1");
    let mut child = isolated();
    pin(&sleepers, "2");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the guardian does not end", || guardians().is_empty());
    // The command goes on.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(Snapshot::take().differences(&before), [""; 0], "after kill -9");
    assert!(!Journal::default_path().exists());
    sleepers.iter_mut().for_each(|sleeper| sleeper.kill().unwrap());
}
