// SPDX-License-Identifier: GPL-2.0-only
//! The idle states of a real guest: what dyntick counts from the trace is what the kernel counts.

use crate::harness::{dyntick, is_full, schema};
use dyntick_guest::pieces::SCRIPT_OUT;
use dyntick_idle::Account;
use dyntick_lab::idle::RunIdle;
use std::path::Path;

/// Short sleeps for the first part of the window and long ones for the rest. The governor ladder tries the next state
/// again and again, whatever that costs, so that it misses often. cyclictest would forbid
/// all but polling without --laptop.
const STUDY: &str = "
title = 'test'
question = 'test'
[machine]
profile = 'sapphire-rapids'
[[case]]
name = 'mixed'
kernel = 'debian:6.12'
governor = 'ladder'
settle = '200ms'
measure = '500ms'
[case.script]
cpu = '0'
in-window = true
run = ['dyntick', 'idle', '-C', '1', '-t', '500ms', '--json']
[[case.task]]
cpu = 1
run = ['cyclictest', '-q', '--laptop', '-p', '90', '-i', '3700', '-t', '1', '-a', '1']
[[case.task]]
cpu = 1
run = ['cyclictest', '-q', '--laptop', '-p', '80', '-i', '130', '-l', '9000', '-t', '1', '-a', '1']
";

#[test]
fn the_kernels_accounts_are_dynticks() {
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.toml");
    std::fs::write(&study, STUDY).unwrap();
    let out = folder.path().join("out");
    let output =
        dyntick().args(["lab", "run", "--full"]).arg(&study).arg("--out").arg(&out).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("Modelled, not measured"), "{told}");

    let runs = std::fs::read_dir(out.join("runs")).unwrap().next().unwrap().unwrap().path();
    let run = dyntick_lab::store::load(&runs).unwrap();
    let idle = run.analysis.idle.expect("has idle states");
    counts_agree(&idle);
    times_agree(&idle);
    let all = idle.comparisons.iter().filter(|one| one.counter != "time").all(|one| one.agrees());
    assert!(told.contains(if all { "agree, and no entry" } else { "the kernel counts" }), "{told}");

    let sum = |of: fn(&Account) -> u64| idle.accounts[&1].iter().map(of).collect::<Vec<u64>>();
    let (usage, above, below) = (sum(|one| one.usage), sum(|one| one.above), sum(|one| one.below));
    let entered = usage.iter().filter(|usage| **usage > 0).count();
    let missed: u64 = above.iter().chain(&below).sum();
    let tested = entered >= 2 && missed >= 100;
    assert!(tested, "nothing was put to the test: usage {usage:?}, above {above:?}, below {below:?}");
    judged_from_the_counters(&runs, usage.iter().sum());
    // A task that wakes the CPU out of C6 waits at least for its exit latency while the package is awake.
    let c6 = idle.wakeup_latency(Some(3)).quantile(0.5).unwrap();
    assert!(c6 >= 190_000, "{c6}");
    let energy = idle.energy_of_all.unwrap().total();
    assert!(energy.low < energy.value && energy.value < energy.high);
}

/// `dyntick idle` in the guest, whose time is most of the window.
fn judged_from_the_counters(run: &Path, entries: u64) {
    let text = std::fs::read(run.join("raw").join(SCRIPT_OUT)).unwrap();
    let idle: serde_json::Value = serde_json::from_slice(&text).unwrap();
    schema::assert_valid("dyntick-idle", &idle);
    assert_eq!((idle["governor"].as_str(), idle["since_boot"].as_bool()), (Some("ladder"), Some(false)));
    let judged = &idle["judged"];
    let within = judged["entries"].as_u64().unwrap();
    assert!((100..=entries).contains(&within), "{within} of {entries}");
    assert_eq!(judged["ruling"], "too-deep", "{judged}");
    let states = idle["cpus"][0]["states"].as_array().unwrap();
    let deep = |state: &serde_json::Value| {
        state["too_deep"].as_u64().unwrap() * state["exit_latency_us"].as_u64().unwrap()
    };
    assert_eq!(judged["exits_us"].as_u64().unwrap(), states.iter().map(deep).sum::<u64>());
}

/// Each sleep is in both or in neither; one may have been counted while the kernel's number was read. Whether
/// it was too short for its state is not always known: where the other CPU gets its turn between a trace
/// point and the kernel's reading of the clock, a sleep that is as long as the state wants by the trace is
/// shorter by the kernel (see [`times_agree`]).
fn counts_agree(idle: &RunIdle) {
    for one in idle.comparisons.iter().filter(|one| one.counter != "time") {
        let (least, most) = one.trace;
        let apart = least.saturating_sub(one.kernel) + one.kernel.saturating_sub(most);
        let allowed = u64::from(["above", "below"].contains(&one.counter.as_str()));
        assert!(apart <= allowed && most - least <= 2, "{one:?}");
    }
}

/// The kernel reads its clock between the trace points of a sleep. What they cost is the least mean of a state; of a
/// single state the rest is at most a nanosecond a sleep, beside the microsecond to which sysfs rounds. Now and then
/// the other CPU gets its turn between a trace point and the reading of the clock: then the kernel counts less.
fn times_agree(idle: &RunIdle) {
    for one in idle.comparisons.iter().filter(|one| one.counter == "time") {
        let mut same = idle.comparisons.iter().filter(|other| other.counter == "usage");
        let usage = same.find(|other| other.cpu == one.cpu && other.state == one.state).unwrap().kernel;
        let rounding_us = 2 + usage / 1000;
        let turns_us = 100;
        let (least, most) = (one.trace.0.saturating_sub(rounding_us + turns_us), one.trace.1 + rounding_us);
        assert!((least..=most).contains(&one.kernel), "{one:?}");
    }
    assert!((1..2000).contains(&idle.cost_ns), "{}", idle.cost_ns);
}

/// cyclictest holds a limit, and beside it a CPU has one of its own.
const LIMITED: &str = "
title = 'test'
question = 'test'
[machine]
profile = 'sapphire-rapids'
[defaults]
kernel = 'debian:6.12'
settle = '50ms'
measure = '120ms'
[[case]]
name = 'held'
task = [{ cpu = 1, run = ['cyclictest', '-q', '--latency=HELD', '-p', '90', '-i', '3700', '-t', '1', '-a', '1'] }]
[[case]]
name = 'cpu'
write = { '/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us' = 20 }
task = [{ cpu = 1, run = ['cyclictest', '-q', '--laptop', '-p', '90', '-i', '3700', '-t', '1', '-a', '1'] }]
";

#[test]
fn a_choice_is_judged_within_the_latency_limit_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let (study, out) = (folder.path().join("study.toml"), folder.path().join("out"));
    // A limit of 0 leaves polling alone, each of whose instructions is emulated: a minute more.
    let (held_us, held_state) = if is_full() { (0, "POLL") } else { (1, "C1 ") };
    std::fs::write(&study, LIMITED.replace("HELD", &held_us.to_string())).unwrap();
    let printed = |words: &[&str]| {
        let mut command = dyntick();
        let output = command.arg("lab").args(words).arg(&study).arg("--out").arg(&out).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
        told
    };
    let lab = |verb: &[&str]| printed(verb).split_whitespace().collect::<Vec<_>>().join(" ");
    let told = lab(&["run", "--full"]);
    let limits = format!(
        "latency limit (PM QoS): {held_us} µs, held by cyclictest (held, 6.12); 20 µs, of pm_qos_resume_latency_us \
         (cpu, 6.12)."
    );
    assert!(told.contains(&limits), "{told}");

    let runs: Vec<_> = std::fs::read_dir(out.join("runs")).unwrap().map(|run| run.unwrap().path()).collect();
    for folder in &runs {
        let run = dyntick_lab::store::load(folder).unwrap();
        // POLL or C1 of 1 µs, and C1E of 2 µs: C6 takes 290 µs to leave.
        let deepest = if run.plan.case.name == "held" { held_us } else { 2 };
        let idle = run.analysis.idle.expect("has idle states");
        let right = |place: usize| idle.choices.iter().map(|chosen| chosen.right[place]).sum::<u64>();
        let right: Vec<u64> = (0..idle.states.0.len()).map(right).collect();
        assert!(right.iter().sum::<u64>() > 50 && right[deepest] > 0, "{right:?}");
        assert!(right[deepest + 1..].iter().all(|count| *count == 0), "{right:?}");
    }
    let mail = printed(&["report", "--format", "mail", "--brief"]);
    is_for_a_list(&mail);
    let short = mail.split_whitespace().collect::<Vec<_>>().join(" ");
    let held = format!("{held_us} us, held by cyclictest (held, 6.12)");
    for told in [held_state, "C1E", "wake-up", "W, modelled", &held, "sapphire-rapids"] {
        assert!(short.contains(told), "{told} is missing: {mail}");
    }
    assert!(!mail.contains("timer irqs") && !mail.contains("Incomplete"), "{mail}");

    // As an earlier dyntick left it.
    for folder in &runs {
        std::fs::remove_file(folder.join("raw/latency-limits.before")).unwrap();
    }
    let told = lab(&["report", "--full"]);
    assert!(told.contains("latency limit (PM QoS): not recorded"), "{told}");

    std::fs::write(runs[0].join("raw/trace.json"), "{").unwrap();
    let mail = printed(&["report", "--format", "mail", "--brief"]);
    is_for_a_list(&mail);
    assert!(mail.contains("Incomplete: 1 run without figures"), "{mail}");
}

/// A mailing list takes plain text that is not wide, and reads what is short; only a command is not broken.
fn is_for_a_list(mail: &str) {
    let lines: Vec<&str> = mail.lines().collect();
    assert!((15..=40).contains(&lines.len()) && mail.is_ascii(), "{} lines:\n{mail}", lines.len());
    let is_command = |line: &&&str| line.starts_with("Repeat with: ") || line.starts_with("  dyntick ");
    assert!(lines.iter().filter(|line| !is_command(line)).all(|line| line.len() <= 72), "{mail}");
}
