// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick isolate` end to end, in guests: this very program goes into the guest and runs there the
//! tests that are ignored elsewhere.
//!
//! `DYNTICK` names the binary under test, as in the laboratory's tests.

mod kills;
mod quiet;
mod room;
mod snapshot;
mod stopped;

use crate::harness::{dyntick, is_full, trials_program};
use std::process::{Output, Stdio};

/// Runs some of the ignored tests of this folder in a guest of four CPUs, the last for isolation.
fn in_guest(kernel: &str, append: &str, tests: &str, environment: &str) -> Output {
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let script = format!("{environment} exec {own} --ignored --exact {tests} --nocapture --test-threads 1");
    let mut shell = dyntick();
    shell.args(["lab", "shell", "--virtual", "--kernel", kernel, "--cpus", "4", "--append", append]);
    shell.args(["--tool", own, "--tool", &trials_program()]);
    shell.args(["--", "busybox", "sh", "-c", &script]).stdin(Stdio::null());
    shell.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Kills `isolate` at random moments; `rounds` times with `DYNTICK_TESTS=full`, a twentieth of that without.
fn killed_at_any_moment(kernel: &str, append: &str, rounds: u32, seed: u32) {
    let rounds = if crate::harness::is_full() { rounds } else { rounds / 20 };
    let size = format!("ROUNDS={rounds} SEED={seed}");
    let output = in_guest(kernel, append, "isolate::kills::rounds", &size);
    assert!(output.status.success(), "{}", text(&output));
    let left_nothing = format!("{rounds} of {rounds} kills left the machine as it was");
    assert!(text(&output).contains(&left_nothing), "{}", text(&output));
}

#[test]
fn killed_at_any_moment_on_6_12() {
    killed_at_any_moment("debian:6.12", "nohz_full=3", 100, 1);
}

#[test]
fn killed_at_any_moment_on_6_1() {
    if is_full() {
        killed_at_any_moment("debian:6.1", "", 40, 2);
    }
}

#[test]
fn an_isolated_cpu_is_quiet() {
    let output = in_guest("debian:6.12", "nohz_full=3", "isolate::quiet::only_with_isolate", "");
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn an_isolated_cpu_is_quiet_on_preempt_rt() {
    let output = in_guest("debian:6.12-rt", "nohz_full=3", "isolate::quiet::only_with_isolate", "");
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn others_changes_stay_no_journal_and_no_signal_leave_anything_isolated() {
    const TESTS: &str = "isolate::quiet::the_machine_changes_underneath isolate::room::the_journal_is_full \
                         isolate::stopped::comparison_ends_with_a_signal";
    let output = in_guest("debian:6.12", "", TESTS, "");
    assert!(output.status.success() && text(&output).contains("3 passed"), "{}", text(&output));
}
