// SPDX-License-Identifier: GPL-2.0-only
use super::*;

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
    let needs_machine = |name: &str| Figure::named(name).unwrap().needs_machine();
    assert!(needs_machine("wakeup:p50") && needs_machine("cpuidle:C6:usage") && !needs_machine("ticks"));
    assert!(Figure::named("script_user_ns").unwrap().needs_script());
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
