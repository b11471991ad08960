// SPDX-License-Identifier: GPL-2.0-only
//! The report of `dyntick explain` about the recorded command, in a guest: its own work interrupts no other process.
//! `DYNTICK` names the binary under test.

use crate::harness::{documents, is_full, trials_program};
use serde_json::Value;
use std::collections::BTreeMap;

/// CPU 1 is set aside. Two shells of the command share it: alone, beside another program, and as a process that has
/// started them before it is recorded. At last a command begins there and does nothing.
const SCRIPT: &str = r"
    busybox --install -s /bin
    cd /tmp
    both() { echo 'spin() { i=0; while [ $i -lt '$1' ]; do i=$((i+1)); done; }; spin & spin; wait'; }
    both 8000 > both
    both 40000 > long
    ln -s TRIALS foreign
    record() { name=$1; shift; taskset 2 dyntick record -C 1 -o $name $*; echo @$name; dyntick explain --json $name; }
    exec 2>/dev/null
    record alone -- sh both
    taskset 2 ./foreign spin & other=$!
    record beside -- sh both
    kill $other
    taskset 2 sh long & own=$!
    sleep 0.02
    record process -p $own
    record begin -- sleep 0.1
    record last --last 60s -- sh both
    echo @";

/// The findings of CPU 1, by the name of the record.
fn findings(kernel: &str) -> BTreeMap<String, Value> {
    let trials = trials_program();
    let script = SCRIPT.replace("TRIALS", &trials);
    let printed = documents::printed_with(&[&trials], kernel, "isolcpus=domain,1 nohz_full=1", &script);
    printed.into_iter().map(|(name, mut all)| (name, all["cpus"][0].take())).collect()
}

/// The causes that begin so.
fn causes<'a>(cpu: &'a Value, begin: &str) -> Vec<&'a Value> {
    let all = cpu["causes"].as_array().unwrap().iter();
    all.filter(|cause| cause["cause"].as_str().unwrap().starts_with(begin)).collect()
}

fn assert_own_work_is_own(kernel: &str) {
    let found = findings(kernel);
    for name in ["alone", "beside", "process", "last"] {
        let cpu = &found[name];
        println!("{kernel} {name}: {cpu:#}");
        assert!(cpu["command_tasks"].as_u64() > Some(2), "{kernel} {name}: {cpu:#}");
        assert!(cpu["command_tasks_ns"].as_u64() > Some(10_000_000), "{kernel} {name}: {cpu:#}");
        let own = causes(cpu, "command-task:");
        assert!(!own.is_empty(), "{kernel} {name}: {cpu:#}");
        assert!(!own[0]["fixes"].to_string().contains("taskset -pc"), "{}", own[0]);
        // Nothing of its own is another program's, and none is to be moved away.
        let others = causes(cpu, "other-task:");
        let foreign: Vec<&Value> = others.iter().map(|cause| &cause["cause"]).collect();
        match name {
            "beside" => assert_eq!(foreign, ["other-task:foreign"]),
            _ => {
                assert!(foreign.is_empty() && !causes(cpu, "command-tick").is_empty(), "{name}: {cpu:#}");
                // No second task may be visible if the first has just ended, or ran before the recording began.
                let unseen = causes(cpu, "dependency-sched");
                assert!(unseen.iter().all(|cause| cause["count"].as_u64() < Some(6)), "{name}: {cpu:#}");
            }
        }
        let first = &cpu["causes"][0]["cause"];
        assert!(!first.as_str().unwrap().starts_with("command-task"), "{kernel} {name}: {first}");
    }
    found.values().for_each(|cpu| assert_nothing_of_dyntick(kernel, cpu));
    let moved = causes(&found["beside"], "other-task:")[0]["fixes"][0]["setting"].as_str().unwrap();
    assert!(moved.starts_with("taskset -pc 0 "), "{moved}");
}

/// Asserts that dyntick itself caused no irq_work. A new child closes its copies of dyntick's files on the recorded
/// CPU.
fn assert_nothing_of_dyntick(kernel: &str, begin: &Value) {
    let by_files = causes(begin, "irq-work");
    assert!(by_files.is_empty(), "{kernel}: {by_files:?}");
}

#[test]
fn what_a_command_does_itself_interrupts_nobody_on_6_12() {
    assert_own_work_is_own("debian:6.12");
}

#[test]
fn what_a_command_does_itself_interrupts_nobody_on_6_1() {
    if is_full() {
        assert_own_work_is_own("debian:6.1");
    }
}
