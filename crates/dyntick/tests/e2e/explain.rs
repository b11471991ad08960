// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick explain` on real kernels that are disturbed in known ways: it has to name each first.
//!
//! A guest boots once and is disturbed again and again; each time it records and explains itself.

use crate::harness::{dyntick, is_full, trials_program};
use serde_json::Value;

/// The disturbances that come only once or twice a second. Their cause may come after a single long tick: in virtual
/// time one lasts through the time slice of another CPU. It may also come after the ticks of a fair server, which runs
/// once a second as well.
const SELDOM: [&str; 3] = ["machine-check", "vmstat", "watchdog"];

/// The disturbances of every run of the tests, one for each way in which a cause is found and that no other test has.
/// To switch the events of a recording on and off takes an emulated guest a second.
const OF_EACH_KIND: [&str; 18] = [
    "woken-task",
    "signals",
    "migration",
    "cpu-timer",
    "perf-period",
    "membarrier",
    "stat-refresh",
    "device",
    "kernel-messages",
    "loopback",
    "machine-check",
    "deadline-task",
    "pm-qos",
    "backtrace",
    "rcu-callbacks",
    "ticking",
    "unstable-clock",
    "vmstat",
];

/// Disturbs CPU 1 of a guest, and wants each disturbance's foremost cause to begin with one of the given
/// names. One interruption, or one in a hundred, may stay without a cause.
fn names_first(kernel: &str, append: &str, module: &[&str], expected: &[(&str, &[&str])]) {
    let mut command = dyntick();
    command.args(["lab", "shell", "--virtual", "--cpus", "3", "--kernel", kernel, "--append", append]);
    module.iter().for_each(|module| _ = command.args(["--module", module]));
    command.args(["--tool", &trials_program(), "--", &trials_program(), "explain", "-C", "1"]);
    let expected: Vec<_> =
        expected.iter().filter(|(name, _)| is_full() || OF_EACH_KIND.contains(name)).collect();
    let output = command.args(expected.iter().map(|(name, _)| name)).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let told: Vec<Value> = text.lines().filter_map(found).collect();
    assert!(output.status.success(), "{}{text}", String::from_utf8_lossy(&output.stderr));
    let mut wrong = Vec::new();
    for (name, causes) in expected.iter().copied() {
        let Some(own) = told.iter().find(|told| told["disturbance"] == *name) else {
            wrong.push(format!("{name}: nothing was told"));
            continue;
        };
        let foremost = if SELDOM.contains(name) { 3 } else { 1 };
        // The first ones, the longest, or the most frequent: in virtual time a few interruptions of an idle CPU may
        // take milliseconds, the turns of other CPUs. The command's own tasks stand behind what came from outside.
        let told: Vec<&Value> = own["causes"].as_array().into_iter().flatten().collect();
        let most = told.iter().max_by_key(|cause| cause["count"].as_u64());
        let longest = told.iter().max_by_key(|cause| cause["ns"].as_u64());
        let told = told.iter().take(foremost).chain(most).chain(longest);
        let mut told = told.map(|cause| as_if_foreign(cause["cause"].as_str().unwrap_or_default()));
        let named = told.any(|told| causes.iter().any(|cause| told.starts_with(cause)));
        let unattributed = own["unattributed"].as_u64().unwrap_or(u64::MAX);
        let all = own["interruptions"].as_u64().unwrap_or(0);
        let lost = own["lost"].as_object().is_none_or(|lost| !lost.is_empty());
        if !named || lost || unattributed > 1 + all / 100 {
            wrong.push(format!("{name}: not {causes:?} but {own:#}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Maps the causes of the command's own tasks to those of other tasks. The recorded command disturbs the CPU here, so
/// its tasks are its own (`explain_command.rs`).
fn as_if_foreign(cause: &str) -> String {
    let foreign = [
        ("command-task:", "other-task:"),
        ("command-wakeup:", "wakeup:"),
        ("command-tick", "dependency-sched"),
    ];
    let whose = foreign.iter().find(|(own, _)| cause.starts_with(own));
    whose.map_or(cause.to_owned(), |(own, foreign)| cause.replacen(own, foreign, 1))
}

/// The JSON of a line; the console may have something before it.
pub(crate) fn found(line: &str) -> Option<Value> {
    let begin = line.find("{\"")?;
    let value: Value = serde_json::from_str(line[begin..].trim_end()).ok()?;
    value["disturbance"].is_string().then_some(value)
}

const ADAPTIVE: &str = "nohz_full=1 isolcpus=domain,1";

/// The disturbances whose causes can be known on any kernel from 6.1 on.
const EVERYWHERE: &[(&str, &[&str])] = &[
    ("second-task", &["other-task:victim", "dependency-sched"]),
    ("woken-task", &["wakeup:woken", "other-task:woken", "dependency-sched"]),
    ("sleeping-task", &["other-task:sleeper", "wakeup:sleeper", "dependency-sched"]),
    ("signals", &["signal"]),
    ("migration", &["kernel-thread:migration"]),
    ("cpu-timer", &["dependency-posix-timer"]),
    ("cpu-limit", &["dependency-posix-timer"]),
    ("perf-frequency", &["dependency-perf"]),
    ("perf-period", &["hrtimer:perf_swevent_hrtimer"]),
    ("membarrier", &["function-call:ipi_mb"]),
    ("mprotect", &["function-call:flush_tlb_func"]),
    ("munmap", &["function-call:flush_tlb_func"]),
    ("page-faults", &["page-fault"]),
    ("stat-refresh", &["workqueue:refresh_vm_stats"]),
    ("ksm", &["kernel-thread:ksmd"]),
    ("jump-label", &["function-call:do_sync_core"]),
    ("device", &["device:ttyS0"]),
    ("writeback", &["workqueue:wb_workfn"]),
    ("equal-task", &["other-task:victim", "dependency-sched"]),
    // Watchers of cgroup.events are notified of each change of the state, by a timer and by work.
    (
        "freezer",
        &[
            "wakeup:victim",
            "ipi:cgroup_freeze_task",
            "signal",
            "timer:cgroup_file_notify_timer",
            "workqueue:kernfs_notify_workfn",
        ],
    ),
    ("trace-buffer", &["workqueue:update_pages_handler"]),
    ("kernel-messages", &["irq-work:wake_up_klogd_work_func"]),
    ("loopback", &["softirq:NET_RX"]),
    ("khugepaged", &["kernel-thread:khugepaged"]),
    ("compaction", &["kernel-thread:kcompactd"]),
    ("io-uring", &["kernel-thread:iou-sqp"]),
    ("machine-check", &["timer:mce_timer_fn"]),
    ("read-registers", &["function-call:__rdmsr_safe_on_cpu"]),
    ("read-perf", &["function-call:__perf_event_read"]),
];

/// The RAM disk of `writeback`, and the registers of `read-registers`.
const MODULES: &[&str] = &["brd", "msr"];

#[test]
fn the_older_kernel_where_probes_tell_who_sent() {
    if !is_full() {
        return;
    }
    names_first("debian:6.1", ADAPTIVE, MODULES, EVERYWHERE);
}

#[test]
fn the_newer_kernel() {
    let more: &[(&str, &[&str])] = &[
        (
            "deadline-task",
            &[
                "other-task:deadline",
                "wakeup:deadline",
                "dependency-deadline",
                "dependency-sched",
                "hrtimer:dl_task_timer",
            ],
        ),
        ("fifo-task", &["other-task:realtime"]),
        ("quota", &["cpu-quota"]),
        ("itimer-prof", &["dependency-posix-timer"]),
        ("membarrier-sync-core", &["function-call:ipi_sync_core"]),
        ("drop-caches", &["workqueue:lru_add_drain_per_cpu"]),
        ("ftrace", &["function-call:do_sync_core"]),
        ("expedited-rcu", &["function-call:rcu_exp_handler", "dependency-rcu-exp"]),
        ("pm-qos", &["ipi:wake_up_if_idle"]),
        ("backtrace", &["nmi:nmi_cpu_backtrace_handler"]),
        ("hotplug", &["kernel-thread:migration"]),
        ("kprobe", &["function-call:do_sync_core"]),
        ("watchdog", &["hrtimer:watchdog_timer_fn", "kernel-thread:migration"]),
    ];
    names_first("debian:6.12", ADAPTIVE, MODULES, &[EVERYWHERE, more].concat());
}

#[test]
fn a_cpu_that_is_not_adaptive() {
    let expected: &[(&str, &[&str])] = &[
        ("rcu-callbacks", &["softirq:RCU"]),
        ("posix-timer", &["hrtimer:posix_timer_fn"]),
        ("itimer-real", &["hrtimer:it_real_fn"]),
        ("timerfd", &["hrtimer:timerfd_tmrproc", "other-task:waiter", "wakeup:waiter"]),
        ("receive-steering", &["function-call:rps_trigger_softirq", "softirq:NET_RX"]),
        ("ticking", &["not-adaptive"]),
    ];
    names_first("debian:6.12", "", &[], expected);
}

/// Only 6.1 folds them on a CPU that is adaptive, and not isolated otherwise.
#[test]
fn memory_statistics_that_are_folded_each_second() {
    if !is_full() {
        return;
    }
    names_first("debian:6.1", "nohz_full=1", &[], &[("vmstat", &["workqueue:vmstat_update"])]);
}

/// The TSC rate on the command line is wrong, so that the kernel finds its clock unstable after some seconds.
#[test]
fn a_clock_that_turns_unstable_keeps_the_tick_and_one_that_is_distrusted_from_boot_does_not() {
    if !is_full() {
        return;
    }
    let expected: &[(&str, &[&str])] = &[("unstable-clock", &["dependency-clock-unstable"])];
    for kernel in ["debian:6.1", "debian:6.12"] {
        let wrong = format!("{ADAPTIVE} tsc=noirqtime tsc_early_khz=1030000");
        names_first(kernel, &wrong, &[], expected);
    }
    let distrusted = format!("{ADAPTIVE} tsc=unstable");
    names_first("debian:6.12", &distrusted, &[], &[("ticking", &["clock-distrusted"])]);
}

#[test]
fn records_that_are_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.dt");
    let refused = || {
        let output = dyntick().arg("explain").arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused().contains("cannot open"));
    std::fs::write(&path, "#!/bin/sh\n").unwrap();
    assert!(refused().contains("is not a record of `dyntick record`"));
}

/// The trace instances of a process.
fn instances(pid: u32) -> usize {
    let entries = std::fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("dyntick-{pid}-")))
        .count()
}

/// Starts a recording of CPU 0 and waits until it records; none where this machine cannot.
fn recording(path: &std::path::Path) -> Option<std::process::Child> {
    let mut child = dyntick().args(["record", "-C", "0", "-o"]).arg(path).spawn().unwrap();
    for _ in 0..600 {
        if instances(child.id()) > 0 {
            return Some(child);
        }
        if child.try_wait().unwrap().is_some() {
            eprintln!("skipped: no tracing on this machine");
            return None;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("the recording did not begin");
}

fn signal(child: &std::process::Child, number: libc::c_int) {
    // SAFETY: a process that this test started and has not waited for.
    unsafe { libc::kill(child.id() as i32, number) };
}

#[test]
fn an_interrupted_recording_is_kept_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.dt");
    let Some(mut child) = recording(&path) else { return };
    // Long enough for the window to be open.
    std::thread::sleep(std::time::Duration::from_secs(1));
    signal(&child, libc::SIGINT);
    assert!(child.wait().unwrap().success());
    assert_eq!(instances(child.id()), 0);
    let output = dyntick().arg("explain").arg("--json").arg(&path).output().unwrap();
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(findings["cpus"][0]["interruptions"].as_u64().unwrap() > 0);
    assert!(findings["cpus"][0]["unattributed"]["time_share"].is_number());
}

#[test]
fn what_a_killed_recording_leaves_the_next_removes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.dt");
    let Some(mut child) = recording(&path) else { return };
    signal(&child, libc::SIGKILL);
    child.wait().unwrap();
    assert!(!path.exists(), "nothing half-written");
    assert_eq!(instances(child.id()), 1);
    let other = folder.path().join("y.dt");
    let next = dyntick().args(["record", "-C", "0", "-o"]).arg(&other).args(["--", "true"]).status().unwrap();
    assert!(next.success());
    assert_eq!(instances(child.id()), 0);
}
