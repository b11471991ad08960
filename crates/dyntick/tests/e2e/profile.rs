// SPDX-License-Identifier: GPL-2.0-only
//! Profiles of real kernels: exact, repeatable, and no burden on virtual time.

use crate::harness::{dyntick, is_full, schema};
use serde_json::Value;
use std::path::{Path, PathBuf};

const STUDY: &str = "
title = 'test'
question = 'test'
[defaults]
kernel = 'debian:6.12'
settle = '100ms'
measure = '10ms'
profile = true
calls = ['hrtimer_interrupt']
script = { cpu = '1', run = ['dyntick', 'guest-probe', 'syscall', '-C', '1', '-n', '200'] }
[[case]]
name = 'housekeeping'
append = 'isolcpus=domain,1'
[[case]]
name = 'nohz-full'
append = 'isolcpus=domain,1 nohz_full=1 rcu_nocbs=1'
[[case]]
name = 'in-window'
script = { cpu = '1', run = ['dyntick', 'guest-probe', 'syscall', '-C', '1', '-n', '200'], in-window = true }
";

fn run_of(folder: &Path, case: &str) -> PathBuf {
    let runs = std::fs::read_dir(folder.join("out/runs")).unwrap().flatten().map(|entry| entry.path());
    runs.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with(case)).unwrap()
}

fn profile(runs: &[&Path]) -> Value {
    let output = dyntick().args(["lab", "profile", "--json"]).args(runs).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let value = serde_json::from_slice(&output.stdout).unwrap();
    let format = if runs.len() == 1 { "dyntick-lab-profile" } else { "dyntick-lab-profiles" };
    schema::assert_valid(format, &value);
    value
}

/// The kind of the script's spans.
fn kind<'a>(profile: &'a Value, kind: &str) -> &'a Value {
    let kinds = profile["phases"][1]["kinds"].as_array().unwrap();
    kinds.iter().find(|one| one["kind"] == kind).unwrap_or_else(|| panic!("no {kind} in {kinds:?}"))
}

#[test]
fn a_profile_is_exact_and_repeats_and_a_null_system_call_is_dearer_on_nohz_full() {
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.toml");
    std::fs::write(&study, STUDY).unwrap();
    let mut command = dyntick();
    command.args(["lab", "run", "--jobs", "2", "--json"]).arg(&study);
    let output = command.arg("--out").arg(folder.path().join("out")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (plain, full) = (run_of(folder.path(), "housekeeping"), run_of(folder.path(), "nohz-full"));

    let profiles = [profile(&[&plain]), profile(&[&full])];
    for (profile, run) in profiles.iter().zip(json["runs"].as_array().unwrap()) {
        // One CPU always runs, so nothing of the time is skipped: each nanosecond is an instruction.
        let instructions = profile["phases"][1]["instructions_of_all_cpus"].as_u64().unwrap();
        let elapsed = run["outcome"]["script"]["elapsed_ns"].as_u64().unwrap();
        // The agent's instructions around its script; a build that is hardly optimised has some more.
        assert!(elapsed.abs_diff(instructions) < 400, "{elapsed} ns, {instructions} instructions");
    }
    let call = |profile: &Value| kind(profile, "__x64_sys_getppid")["summary"]["median"].as_u64().unwrap();
    let (cheap, dear) = (call(&profiles[0]), call(&profiles[1]));
    assert!(cheap + 100 < dear, "{cheap} and {dear}");
    let functions = &kind(&profiles[1], "__x64_sys_getppid")["functions_per_span"];
    assert!(functions["vtime_user_exit"].as_f64().unwrap() > 0.0, "{functions}");

    let compared = profile(&[&plain, &full]);
    let rows = compared["differences"].as_array().unwrap();
    let row = rows.iter().find(|row| row["kind"] == "__x64_sys_getppid").unwrap();
    let sum: f64 = row["rows"].as_array().unwrap().iter().map(|row| row["more"].as_f64().unwrap()).sum();
    let difference = row["b"].as_f64().unwrap() - row["a"].as_f64().unwrap();
    assert!((sum - difference).abs() < 1e-6, "{sum} and {difference}");

    // A script that makes the window has no phase of its own.
    let phases = &profile(&[&run_of(folder.path(), "in-window")])["phases"];
    assert_eq!(phases.as_array().unwrap().len(), 1, "{phases}");
    let kinds = phases[0]["kinds"].as_array().unwrap();
    let calls = kinds.iter().find(|one| one["kind"] == "__x64_sys_getppid").unwrap();
    assert!(calls["summary"]["count"].as_u64().unwrap() >= 200, "{calls}");

    // A call is part of the interrupt that makes it.
    let named = |name: &str| {
        let kind =
            kinds.iter().find(|one| one["kind"] == name).unwrap_or_else(|| panic!("no {name} in {kinds:?}"));
        (kind["summary"]["count"].as_u64().unwrap(), kind["summary"]["min"].as_u64().unwrap())
    };
    let of_interrupts = kinds
        .iter()
        .filter(|one| one["kind"].as_str().unwrap().starts_with("asm_sysvec_apic_timer_interrupt from"));
    let interrupts: u64 = of_interrupts.map(|one| one["summary"]["count"].as_u64().unwrap()).sum();
    let (calls, least) = named("hrtimer_interrupt()");
    assert!(calls >= 1 && calls.abs_diff(interrupts) <= 1, "{calls} of {interrupts}");
    assert!(least > 500, "what it calls belongs to it: {least}");
    let report = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(report.contains("hrtimer_interrupt()"), "{report}");

    if !is_full() {
        return;
    }
    let verify = dyntick().args(["lab", "verify"]).arg(&full).output().unwrap();
    assert!(verify.status.success(), "{}", String::from_utf8_lossy(&verify.stdout));
}

#[test]
fn a_run_without_a_profile_and_the_wall_clock_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.toml");
    std::fs::write(&study, STUDY.replace("[defaults]", "[defaults]\nclock = 'wall'")).unwrap();
    let output = dyntick().args(["lab", "run"]).arg(&study).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("virtual clock only"));
    let output = dyntick().args(["lab", "profile", "no-such-run"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-run"));
}
