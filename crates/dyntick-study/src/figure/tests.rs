// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::Case;
use dyntick_guest::{Policy, Task, Work};
use dyntick_model::CpuList;

#[test]
fn quantiles_are_known_by_the_key_of_a_distribution() {
    for (figure, key, share) in [
        ("latency_ns", "p99", Some(0.99)),
        ("latency_ns", "p99.99", Some(0.9999)),
        ("latency_ns", "mean", None),
        ("wakeup", "p50", Some(0.5)),
        ("wakeup", "C6:p90", Some(0.9)),
        ("wakeup", "C6:count", None),
        ("tool", "fio/writes/write/clat/p99", Some(0.99)),
        ("tool", "5ms-p99", None),
        ("span_median", "p99", Some(0.5)),
        ("softirq", "p99", None),
        ("no_figure", "p99", None),
    ] {
        assert_eq!(quantile(figure, key), share, "{figure}:{key}");
    }
}

#[test]
fn names_of_figures() {
    for right in [
        "ticks",
        "softirq:RCU",
        "tick_stop_failed:RCU_EXP",
        "function:any_function",
        "interrupts:LOC",
        "event:timer:tick_stop",
        "file:softirqs:RCU",
        "file:tick_stop_fast_path:hits",
        "latency_avg_ns",
        "latency_avg_ns:0",
        "idle:C6:usage",
        "idle:misses",
        "cpuidle:C1E:above",
        "wakeup:p99",
        "wakeup:C6:mean",
        "energy:total_high",
        "power:cores",
        "package_ns:PC6",
    ] {
        assert_eq!(read(right).map(|_| ()), Ok(()), "{right}");
    }
    // These were made and not known to claims while there were two lists.
    for right in
        ["vector:local_timer", "settle_ns", "task_user_ns:0", "interruption:nmi", "interruption:page-fault"]
    {
        assert_eq!(read(right).map(|_| ()), Ok(()), "{right}");
    }
    for right in ["tick_cause:fair-server", "cause:workqueue:some_work", "interruption:tick"] {
        assert_eq!(read(right).map(|_| ()), Ok(()), "{right}");
    }
    let wrong = |figure: &str, words: &str| {
        let message = read(figure).unwrap_err();
        assert!(message.contains(words), "{figure}: {message}");
    };
    wrong("tick", "did you mean 'ticks'");
    wrong("softirq", "softirq:RCU");
    wrong("softirq:RCUU", "did you mean 'RCU'");
    wrong("tick_stop_failed:SHED", "did you mean 'SCHED'");
    wrong("ticks:1", "has no key");
    wrong("tick_cause:fair-sever", "did you mean 'fair-server'");
    wrong("interrupts:", "needs a key");
    wrong("event:tick_stop", "system:name");
    wrong("latency_ns:p98", "did you mean 'p9");
    wrong("file", "file:softirqs:RCU");
    wrong("file:", "needs a key");
    wrong("idle", "idle:C6:usage");
    wrong("idle:C6", "there is no idle 'C6'");
    wrong("idle:C6:usages", "did you mean 'usage'");
    wrong("cpuidle:usage", "needs a state");
    wrong("wakeup:C6:p98", "did you mean 'p9");
    wrong("energy:core", "did you mean 'cores'");
}

#[test]
fn where_figures_come_from() {
    assert_eq!(file_of("file:softirqs:RCU"), Some("softirqs"));
    assert_eq!(file_of("file:uptime"), Some("uptime"));
    assert_eq!(file_of("softirq:RCU"), None);
    let of_trace = |name: &str| Figure::named(name).unwrap().is_of_trace();
    assert!(of_trace("softirq:RCU") && !of_trace("file:x:y") && !of_trace("interrupts:LOC"));
    assert!(of_trace("idle:C6:usage") && !of_trace("cpuidle:C6:usage"));
}

/// A case of one task that computes has what is counted of any guest, and nothing else.
#[test]
fn figures_that_a_case_cannot_have_are_known_with_the_remedy() {
    let task = |work: Work| Task {
        cpus: CpuList::from_iter([1]),
        policy: Policy::Other,
        partition: None,
        to_its_end: false,
        work,
    };
    let tool = |run: &[&str]| task(Work::Tool(run.iter().map(|word| (*word).to_owned()).collect()));
    let bare = Case { tasks: vec![task(Work::Spin)], ..Case::new("a", "debian:6.12") };
    let lack = |name: &str, case: &Case| lack(read(name).unwrap(), name, case);
    for (name, remedy) in [
        ("script_s", "needs a script"),
        ("qperf:tcp_lat", "needs a script"),
        ("wakeup:p50", "has no machine: add [machine]"),
        ("power:total", "has no machine"),
        ("span:tick", "set profile = true"),
        ("stolen_ns", "set clock = \"wall\""),
        ("tool:fio/x", "needs the output of a tool"),
        ("latency_max_ns", "needs cyclictest or packets"),
        ("task_user_ns:1", "has tasks 0 to 0"),
        ("task_system_ns:x", "has tasks 0 to 0"),
        ("event:sched:sched_process_exit", "add events = [\"sched:sched_process_exit\"]"),
    ] {
        let reason = lack(name, &bare).unwrap_or_default();
        assert!(reason.contains(remedy) && reason.contains("'a'"), "{name}: {reason}");
    }
    for name in
        ["ticks", "interrupts:LOC", "window_ns", "task_user_ns:0", "event:timer:tick_stop", "file:x:y"]
    {
        assert_eq!(lack(name, &bare), None, "{name}");
    }
    let with = |run: &[&str]| Case { tasks: vec![tool(run)], ..bare.clone() };
    let silent = with(&["/usr/bin/cyclictest", "-Smp95", "-D", "9"]);
    assert!(lack("latency_ns:p99", &silent).unwrap().contains("add --histogram=US"));
    assert_eq!(lack("latency_max_ns", &silent), None);
    for words in [["cyclictest", "-h400"], ["cyclictest", "--histofall=9"], ["dyntick", "guest-packets"]] {
        assert_eq!(lack("latency_ns:p99", &with(&words)), None, "{words:?}");
    }
    assert_eq!(lack("tool:fio/x", &with(&["fio"])), None);
}

/// Each figure that a run has can be claimed: a figure that is not in the table is unknown to studies.
#[test]
fn the_list_has_every_figure_once() {
    let made = include_str!("table.rs").matches("\npub static ").count() - 1;
    assert_eq!(table::ALL.len(), made);
    let names: std::collections::BTreeSet<&str> = table::ALL.iter().map(|one| one.name).collect();
    assert_eq!(names.len(), made);
    for one in table::ALL {
        assert!(!one.name.is_empty() && !one.text.is_empty(), "{one:?}");
        if let Key::Required { example, .. } = one.key {
            assert_eq!(read(&format!("{}:{example}", one.name)).map(|found| found.name), Ok(one.name));
        }
    }
}
