// SPDX-License-Identifier: GPL-2.0-only
//! An isolated CPU is quiet, by the kernel's own count; and what others set meanwhile stays.

use crate::harness::trials_program;
use dyntick_observe::interrupts::Interrupts;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const REPORT: &str = "/tmp/report.json";
/// The kernel has a link here, as for every device.
const PACKET_STEERING: &str = "/sys/class/net/lo/queues/rx-0/rps_cpus";

fn interrupts() -> Interrupts {
    Interrupts::parse(&std::fs::read_to_string("/proc/interrupts").unwrap())
}

/// Interrupts of CPU 3 in five seconds, once the command is at work.
fn count() -> Vec<(String, u64)> {
    std::thread::sleep(Duration::from_secs(1));
    let before = interrupts();
    std::thread::sleep(Duration::from_secs(5));
    let here = interrupts().since(&before).into_iter().filter(|(_, cpu, count)| *cpu == 3 && *count > 0);
    here.map(|(row, _, count)| (row, count)).collect()
}

/// A program that computes, started by other words.
fn run(words: &[&str]) -> Child {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .args([&trials_program(), "spin"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn end(mut child: Child) -> Option<i32> {
    // SAFETY: a system call.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    child.wait().unwrap().code()
}

#[test]
#[ignore = "runs in a guest"]
fn only_with_isolate() {
    // What the boot has left to do is done.
    std::thread::sleep(Duration::from_secs(5));
    let child = run(&["busybox", "taskset", "-c", "3"]);
    let pinned = count();
    end(child);
    let child = run(&["dyntick", "isolate", "-C", "3", "--json", "-o", REPORT, "--"]);
    let isolated = count();
    let status = end(child);
    println!("pinned: {pinned:?}; isolated: {isolated:?}");
    assert!(pinned.iter().map(|(_, count)| count).sum::<u64>() >= 5, "without isolate it is not quiet");
    assert_eq!(isolated, [], "not one interrupt in five seconds");
    assert_eq!(status, Some(128 + libc::SIGTERM), "the signal reached the command, and its status came back");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(REPORT).unwrap()).unwrap();
    println!("{report:#}");
    let trace = &report["proof"]["trace"];
    let interruptions = trace["per_cpu"][0]["interruptions"].as_u64().unwrap();
    let named: u64 = trace["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| cause["interruptions"].as_u64().unwrap())
        .sum();
    assert_eq!(interruptions, named, "each has a cause");
    assert!(interruptions < 20, "those of its first second, in which it starts, and no more");
    // Of the six seconds the command ran all but what it took to start.
    let ledger = &trace["ledger"];
    let [lived, lost] = ["lived_ns", "lost_ns"].map(|key| ledger[key].as_u64().unwrap());
    let parts = ledger["parts"].as_array().unwrap().iter();
    assert_eq!(parts.map(|part| part["ns"].as_u64().unwrap_or(0)).sum::<u64>(), lived, "{ledger:#}");
    assert!(lived > 5_000_000_000 && lost < 100_000_000, "{ledger:#}");
    assert_eq!(report["partition"], "isolated");
    assert_eq!(report["partition_held"], true);
    assert_eq!(report["restored"]["failed"], serde_json::json!([]));
}

#[test]
#[ignore = "runs in a guest"]
fn the_machine_changes_underneath() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap().trim().to_owned();
    let write = |path: &str, value: &str| std::fs::write(path, value).unwrap();
    write(PACKET_STEERING, "9");
    let child = run(&["dyntick", "isolate", "-C", "3", "--json", "-o", REPORT, "--"]);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(read("/proc/sys/vm/stat_interval"), "60");
    assert_eq!(read(PACKET_STEERING), "1");
    let second =
        Command::new("dyntick").args(["isolate", "-C", "2", "--", "busybox", "true"]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(second.status.code() == Some(2) && said.contains("only one can at a time"), "{said}");
    // Other verbs leave it alone while it lives.
    let restore = Command::new("dyntick").args(["isolate", "--restore"]).output().unwrap();
    assert_eq!(restore.status.code(), Some(2), "{}", String::from_utf8_lossy(&restore.stderr));
    assert_eq!(read("/proc/sys/vm/stat_interval"), "60");
    write("/proc/sys/vm/stat_interval", "5");
    write("/proc/irq/4/smp_affinity_list", "1");
    write("/sys/devices/system/cpu/cpu2/online", "0");
    assert_eq!(end(child), Some(128 + libc::SIGTERM));
    write("/sys/devices/system/cpu/cpu2/online", "1");
    assert_eq!(read("/proc/sys/vm/stat_interval"), "5");
    assert_eq!(read(PACKET_STEERING), "9");
    assert_eq!(read("/proc/irq/4/smp_affinity_list"), "1");
    assert_eq!(read("/proc/irq/default_smp_affinity"), "f");
    assert_eq!(read("/proc/sys/kernel/watchdog_cpumask"), "0-3");
    assert_eq!(read("/sys/devices/virtual/workqueue/cpumask"), "f");
    assert!(!std::path::Path::new("/sys/fs/cgroup/dyntick-isolate").exists());
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(REPORT).unwrap()).unwrap();
    println!("{}", report["restored"]);
    let theirs: Vec<&str> =
        report["restored"]["theirs"].as_array().unwrap().iter().filter_map(|one| one[0].as_str()).collect();
    assert_eq!(theirs, ["/proc/irq/4/smp_affinity_list", "/proc/sys/vm/stat_interval"]);
    assert_eq!(report["restored"]["failed"], serde_json::json!([]));
    command_leaves_its_partition();
}

/// A command that joins another control group is not isolated from then on: no limit is judged by that.
fn command_leaves_its_partition() {
    let leaves = "echo $$ > /sys/fs/cgroup/cgroup.procs; exec busybox usleep 200000";
    let output = Command::new("dyntick")
        .args(["isolate", "-C", "3", "--json", "-o", REPORT, "--at-most", "interruptions 1000000"])
        .args(["--", "busybox", "sh", "-c", leaves])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(REPORT).unwrap()).unwrap();
    assert_eq!(report["left"], serde_json::json!({ "group": "/", "quota": null }), "{said}");
    assert_eq!(
        (output.status.code(), &report["gate"]["held"]),
        (Some(2), &serde_json::Value::Null),
        "{said}"
    );
}
