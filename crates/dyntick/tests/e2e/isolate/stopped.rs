// SPDX-License-Identifier: GPL-2.0-only
//! A signal ends `isolate --compare`: the running command, all further runs, and the isolation.

use super::snapshot::Snapshot;
use crate::harness::trials_program;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Has a line for each run that was begun.
const RUNS: &str = "/tmp/runs";

fn runs() -> usize {
    std::fs::read_to_string(RUNS).map_or(0, |text| text.lines().count())
}

/// Compares a command that ends at once until its run `last`, which computes without end. It begins with SIGINT
/// ignored, as a shell without job control starts what is in the background.
fn compare(last: usize) -> Child {
    let spin = trials_program();
    let script = format!("echo >> {RUNS}; [ $(busybox wc -l < {RUNS}) -lt {last} ] || exec {spin} spin");
    let mut command = Command::new("dyntick");
    command.args(["isolate", "-C", "3", "--compare", "9", "--", "busybox", "sh", "-c", &script]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    // SAFETY: async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            Ok(())
        });
    }
    command.spawn().unwrap()
}

/// Returns true if the command of the last run computes.
fn spins() -> bool {
    let is_spinning = |process: &Path| {
        let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == b"spin") && !words.contains(&b';')
    };
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| is_spinning(&entry.path()))
}

fn wait_for(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "runs in a guest"]
fn comparison_ends_with_a_signal() {
    // The first run is as it is, the second isolated.
    for (signal, last) in [(libc::SIGTERM, 1), (libc::SIGTERM, 2), (libc::SIGINT, 2), (libc::SIGHUP, 3)] {
        let before = Snapshot::take();
        let _ = std::fs::remove_file(RUNS);
        let mut child = compare(last);
        wait_for("no run that goes on", || runs() == last && spins());
        // SAFETY: a system call.
        unsafe { libc::kill(child.id() as i32, signal) };
        wait_for("the signal does not end it", || child.try_wait().unwrap().is_some());
        let status = child.wait().unwrap();
        assert_eq!((status.code(), runs()), (Some(128 + signal), last), "signal {signal} in run {last}");
        assert!(!spins(), "the command goes on after signal {signal} in run {last}");
        assert_eq!(Snapshot::take().differences(&before), [""; 0], "after signal {signal} in run {last}");
    }
}
