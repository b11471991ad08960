// SPDX-License-Identifier: GPL-2.0-only
//! The names of the figures that a study may speak of, as [`crate::figures`] makes them.

use super::limits::is_event;
use super::reader::nearest;
use crate::figures::STOLEN_NS;
use crate::latency::QUANTILES;
use crate::printed::TOOL;
use dyntick_explain::rules;
use dyntick_model::{Softirq, TickDependency};

/// Figures that stand alone.
const PLAIN: [&str; 21] = [
    "ticks",
    "ticks_per_s",
    "ticks_share_of_hz",
    "local_timer",
    "local_timer_per_s",
    "interruptions",
    "interrupted_ns",
    "context_switches",
    "unattributed",
    "unattributed_share",
    "tick_stop_success",
    "script_s",
    "script_user_ns",
    "script_system_ns",
    "window_ns",
    STOLEN_NS,
    "latency_cycles",
    "latency_overflows",
    "latency_min_ns",
    "latency_avg_ns",
    "latency_max_ns",
];

/// Figures that are counted by a key: `softirq:RCU`.
const KEYED: [&str; 26] = [
    "interruption",
    "cause",
    "cause_ns",
    "tick_cause",
    "function",
    "called_function",
    "softirq",
    "tick_stop_failed",
    "interrupts",
    "event",
    FILE,
    "latency_ns",
    "latency_min_ns",
    "latency_avg_ns",
    "latency_max_ns",
    "span",
    "span_median",
    "spans",
    QPERF,
    TOOL,
    "idle",
    "cpuidle",
    "wakeup",
    "energy",
    "power",
    "package_ns",
];

/// What qperf printed of a test: `qperf:tcp_lat`, us, or B/s for a bandwidth.
pub const QPERF: &str = "qperf";

/// What is told of idle states: counted from the trace, of wake-ups, and modelled.
const OF_IDLE: [&str; 6] = ["idle", "cpuidle", "wakeup", "energy", "power", "package_ns"];

/// Numbers in files that the case reads: `file:softirqs:RCU`.
pub const FILE: &str = "file";

const INTERRUPTIONS: [&str; 13] = [
    "tick",
    "timer-wheel",
    "hrtimer",
    "empty-timer",
    "reschedule",
    "function-call",
    "irq-work",
    "device",
    "other-vector",
    "softirq",
    "work-item",
    "kernel-thread",
    "other-task",
];

/// Whether the figure is one of the timed script's.
pub fn is_of_script(figure: &str) -> bool {
    figure.starts_with("script_")
}

/// Whether the figure is one of idle states, which a guest without a machine does not have.
pub fn is_of_idle(figure: &str) -> bool {
    OF_IDLE.contains(&figure.split(':').next().unwrap_or(figure))
}

/// Whether a figure is counted from the trace, and not read from files of the kernel or a clock.
pub fn is_of_trace(figure: &str) -> bool {
    let elsewhere = [
        "script_",
        "task_",
        "window_ns",
        "settle_ns",
        STOLEN_NS,
        "latency_",
        "span",
        "interrupts",
        "cpuidle",
        FILE,
        QPERF,
        TOOL,
    ];
    !elsewhere.iter().any(|prefix| figure.starts_with(prefix))
}

/// The file that a figure is read from, if it is one of those that a case reads.
pub fn file_of(figure: &str) -> Option<&str> {
    let key = figure.strip_prefix(FILE)?.strip_prefix(':')?;
    Some(key.split(':').next().unwrap_or(key))
}

/// Says what is wrong with a figure's name, if anything is.
pub fn refuse(figure: &str) -> Result<(), String> {
    match figure.split_once(':') {
        None if PLAIN.contains(&figure) => Ok(()),
        None if KEYED.contains(&figure) => {
            Err(format!("'{figure}' needs a key: {figure}:{}", example(figure)))
        }
        Some((name, key)) if KEYED.contains(&name) => refuse_key(name, key),
        Some((name, _)) if PLAIN.contains(&name) => Err(format!("'{name}' has no key: remove ':'")),
        _ => Err(unknown(
            "figure",
            figure.split(':').next().unwrap_or_default(),
            &[&PLAIN[..], &KEYED].concat(),
        )),
    }
}

fn refuse_key(name: &str, key: &str) -> Result<(), String> {
    let known: Vec<&str> = match name {
        _ if key.is_empty() => return Err(format!("'{name}:' needs a key, as {}", example(name))),
        "softirq" => (0..).map_while(Softirq::from_number).map(Softirq::kernel_name).collect(),
        "tick_stop_failed" => (0..6)
            .filter_map(|bit| TickDependency::from_mask(1 << bit).ok())
            .map(TickDependency::kernel_name)
            .collect(),
        "interruption" => INTERRUPTIONS.to_vec(),
        "latency_ns" => QUANTILES.iter().map(|(name, _)| *name).chain(["mean"]).collect(),
        "cause" | "cause_ns" | "tick_cause" => return refuse_cause(key),
        "idle" | "cpuidle" | "wakeup" => return refuse_of_state(name, key),
        "energy" | "power" => ENERGIES.to_vec(),
        "event" if !is_event(key) => return Err(format!("'{key}' is not of the form system:name")),
        // Functions of any kernel and rows of any /proc/interrupts.
        _ => return Ok(()),
    };
    if known.contains(&key) { Ok(()) } else { Err(unknown(name, key, &known)) }
}

/// Parts whose energy is modelled: the measured CPUs' cores, what a package shares, and all together.
const ENERGIES: [&str; 9] = [
    "cores",
    "cores_low",
    "cores_high",
    "package",
    "package_low",
    "package_high",
    "total",
    "total_low",
    "total_high",
];

/// `STATE:WHAT`, or `WHAT` of all states; the states are the machine's.
fn refuse_of_state(name: &str, key: &str) -> Result<(), String> {
    let (state, what) = key.rsplit_once(':').map_or((None, key), |(state, what)| (Some(state), what));
    let quantiles = QUANTILES.iter().map(|(name, _)| *name);
    let known: Vec<&str> = match name {
        "wakeup" => quantiles.chain(["min", "max", "mean", "count"]).collect(),
        "cpuidle" => vec!["usage", "time", "above", "below", "rejected"],
        _ if state.is_none() => vec!["usage", "time", "resident", "above", "below", "misses"],
        _ => vec!["usage", "time", "resident", "above", "below", "longest"],
    };
    match known.contains(&what) {
        false => Err(unknown(name, what, &known)),
        true if name == "cpuidle" && state.is_none() => {
            Err(format!("'{key}' needs a state, as in {name}:C6:{key}"))
        }
        true => Ok(()),
    }
}

/// The members of a class are open (any work function), its classes are not.
fn refuse_cause(cause: &str) -> Result<(), String> {
    let class = |id: &'static str| id.split(':').next().unwrap_or(id);
    let ids: Vec<&str> = rules::all().iter().map(|rule| rule.id).collect();
    match ids.contains(&cause)
        || cause.split_once(':').is_some_and(|(c, _)| ids.iter().any(|id| class(id) == c))
    {
        true => Ok(()),
        false => Err(unknown("cause", cause, &ids)),
    }
}

fn example(figure: &str) -> &'static str {
    match figure {
        "softirq" => "RCU",
        "tick_stop_failed" => "SCHED",
        "interrupts" => "LOC",
        FILE => "softirqs:RCU",
        QPERF => "tcp_lat",
        TOOL => "fio/JOB/write/iops",
        "event" => "timer:tick_stop",
        "latency_ns" => "p99",
        "span" | "span_median" | "spans" => "__x64_sys_getppid",
        "idle" | "cpuidle" => "C6:usage",
        "wakeup" => "C6:p99",
        "energy" | "power" => "cores",
        "package_ns" => "PC6",
        "interruption" => "tick",
        "cause" | "cause_ns" | "tick_cause" => "workqueue:vmstat_update",
        _ => "vmstat_update",
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(right) => format!("there is no {what} '{name}'; did you mean '{right}'?"),
        None => format!("there is no {what} '{name}'; known are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
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
            assert_eq!(refuse(right), Ok(()), "{right}");
        }
        for right in ["tick_cause:fair-server", "cause:workqueue:some_work", "interruption:tick"] {
            assert_eq!(refuse(right), Ok(()), "{right}");
        }
        let wrong = |figure: &str, told: &str| {
            let message = refuse(figure).unwrap_err();
            assert!(message.contains(told), "{figure}: {message}");
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
        assert!(is_of_trace("softirq:RCU") && !is_of_trace("file:x:y") && !is_of_trace("interrupts:LOC"));
        assert!(is_of_trace("idle:C6:usage") && !is_of_trace("cpuidle:C6:usage"));
        assert!(is_of_idle("wakeup:p50") && !is_of_idle("ticks"));
    }
}
