// SPDX-License-Identifier: GPL-2.0-only
//! The idle states of a real guest: what dyntick counts from the trace is what the kernel counts.

use dyntick_lab::idle::RunIdle;
use std::process::Command;

/// Short sleeps for the first part of the window and long ones for the rest, so that the governor has every state to
/// choose and misses some. cyclictest would forbid all but polling without --laptop.
const STUDY: &str = "
title = 'test'
question = 'test'
[machine]
profile = 'sapphire-rapids'
[[case]]
name = 'mixed'
kernel = 'debian:6.12'
settle = '200ms'
measure = '500ms'
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
    let binary = std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into());
    let out = folder.path().join("out");
    let output =
        Command::new(binary).args(["lab", "run"]).arg(&study).arg("--out").arg(&out).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("say the same"), "{told}");
    assert!(told.contains("Modelled, not measured"), "{told}");

    let runs = std::fs::read_dir(out.join("runs")).unwrap().next().unwrap().unwrap().path();
    let run = dyntick_lab::store::load(&runs).unwrap();
    let idle = run.idle.expect("has idle states");
    counts_agree(&idle);
    times_agree(&idle);

    let busiest = &idle.accounts[&1];
    let entered = busiest.iter().filter(|account| account.usage > 0).count();
    let (above, below): (u64, u64) =
        idle.accounts.values().flatten().fold((0, 0), |(a, b), one| (a + one.above, b + one.below));
    assert!(entered >= 3 && above > 0 && below > 0, "nothing was put to the test: {busiest:?}");
    // A task that wakes the CPU out of C6 waits for its exit latency, with the package's 290 us.
    let c6 = idle.wakeup_latency(Some(3)).quantile(0.5).unwrap();
    assert!((290_000..330_000).contains(&c6), "{c6}");
    let energy = idle.energy_of_all.unwrap().total();
    assert!(energy.low < energy.value && energy.value < energy.high);
}

/// Each sleep is in both or in neither.
fn counts_agree(idle: &RunIdle) {
    let counts = idle.comparisons.iter().filter(|one| one.counter != "time");
    for one in counts {
        assert_eq!(one.trace, (one.kernel, one.kernel), "{one:?}");
    }
}

/// The kernel reads its clock between the trace points of a sleep. What they cost is taken from the mean over all
/// states; of a single state the rest is at most a nanosecond a sleep, beside the microsecond to which sysfs rounds.
fn times_agree(idle: &RunIdle) {
    for one in idle.comparisons.iter().filter(|one| one.counter == "time") {
        let mut same = idle.comparisons.iter().filter(|other| other.counter == "usage");
        let usage = same.find(|other| other.cpu == one.cpu && other.state == one.state).unwrap().kernel;
        let apart_us = one.kernel.abs_diff(one.trace.0);
        assert!(apart_us <= 2 + usage / 1000, "{one:?}");
    }
    assert!((1..2000).contains(&idle.cost_ns), "{}", idle.cost_ns);
}
