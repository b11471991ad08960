// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick isolate` end to end, in guests: this very program goes into the guest and runs there the
//! tests that are ignored elsewhere.
//!
//! `DYNTICK` names the binary under test, as in the laboratory's tests.

mod kills;
mod quiet;
mod room;
mod snapshot;

use std::process::{Command, Output, Stdio};

/// Runs one of the ignored tests of this file in a guest of four CPUs, the last for isolation.
fn in_guest(kernel: &str, append: &str, test: &str, environment: &str) -> Output {
    let binary = std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into());
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let script = format!("{environment} exec {own} --ignored --exact {test} --nocapture --test-threads 1");
    let mut shell = Command::new(binary);
    shell.args(["lab", "shell", "--virtual", "--kernel", kernel, "--cpus", "4", "--append", append]);
    shell.args(["--tool", own, "--", "busybox", "sh", "-c", &script]).stdin(Stdio::null());
    shell.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn killed_at_any_moment_on_6_12() {
    let output = in_guest("debian:6.12", "nohz_full=3", "kills::rounds", "ROUNDS=100 SEED=1");
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("100 of 100 kills left the machine as it was"), "{}", text(&output));
}

#[test]
fn killed_at_any_moment_on_6_1() {
    let output = in_guest("debian:6.1", "", "kills::rounds", "ROUNDS=40 SEED=2");
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("40 of 40 kills left the machine as it was"), "{}", text(&output));
}

#[test]
fn an_isolated_cpu_is_quiet() {
    let output = in_guest("debian:6.12", "nohz_full=3", "quiet::only_with_isolate", "");
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn an_isolated_cpu_is_quiet_on_preempt_rt() {
    let output = in_guest("debian:6.12-rt", "nohz_full=3", "quiet::only_with_isolate", "");
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_journal_that_cannot_grow_leaves_nothing_isolated() {
    let output = in_guest("debian:6.12", "", "room::the_journal_is_full", "");
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn what_others_change_meanwhile_stays() {
    let output = in_guest("debian:6.12", "", "quiet::the_machine_changes_underneath", "");
    assert!(output.status.success(), "{}", text(&output));
}
