// SPDX-License-Identifier: GPL-2.0-only
//! The table of all figures, in the order of the book. Each is documented by its `text`.
#![allow(missing_docs)]

use super::keys;
use super::{Absent, Figure, Key, OfCpus, Source};

/// A count from the trace, of which no row means that it did not happen.
const COUNT: Figure = Figure {
    name: "",
    key: Key::None,
    unit: Some("1"),
    source: Source::Trace,
    of_cpus: OfCpus::Sum,
    absent: Absent::Zero,
    text: "",
};

/// Measured, or not.
const MEASURED: Figure = Figure { absent: Absent::Unknown, ..COUNT };
const CLOCK_NS: Figure = Figure { source: Source::Clock, unit: Some("ns"), ..MEASURED };
const SCRIPT_NS: Figure = Figure { source: Source::Script, ..CLOCK_NS };
const LATENCY_NS: Figure = Figure { source: Source::Tool, ..CLOCK_NS };

const FUNCTION: Key = Key::Required { form: "NAME", example: "vmstat_update", refuse: keys::any };
const CAUSE: Key = Key::Required { form: "ID", example: "workqueue:vmstat_update", refuse: keys::cause };
const ENERGY_PART: Key = Key::Required { form: "PART", example: "cores", refuse: keys::energy };
/// Instructions of the entries to the kernel at one point.
const OF_SPANS: Figure = Figure {
    key: Key::Required { form: "KIND", example: "__x64_sys_getppid", refuse: keys::any },
    unit: Some("instructions"),
    source: Source::Profile,
    ..MEASURED
};

const THREAD: Key = Key::Optional("N");

pub static TICKS: Figure = Figure { name: "ticks", text: "Ticks", ..COUNT };
pub static TICKS_PER_S: Figure =
    Figure { name: "ticks_per_s", unit: Some("1/s"), text: "Ticks a second", ..COUNT };
pub static TICKS_SHARE_OF_HZ: Figure = Figure {
    name: "ticks_share_of_hz",
    of_cpus: OfCpus::Mean,
    text: "Ticks a second, as a share of the kernel's HZ",
    ..COUNT
};
pub static LOCAL_TIMER: Figure =
    Figure { name: "local_timer", text: "Local timer interrupts: ticks and other timers", ..COUNT };
pub static LOCAL_TIMER_PER_S: Figure =
    Figure { name: "local_timer_per_s", unit: Some("1/s"), text: "Local timer interrupts a second", ..COUNT };
pub static INTERRUPTIONS: Figure = Figure {
    name: "interruptions",
    text: "Interrupts, NMIs, softirqs and time slices of kernel threads; no page faults and no other user tasks",
    ..COUNT
};
pub static INTERRUPTED_NS: Figure =
    Figure { name: "interrupted_ns", unit: Some("ns"), text: "How long that took", ..COUNT };
pub static INTERRUPTION: Figure = Figure {
    name: "interruption",
    key: Key::Required { form: "KIND", example: "tick", refuse: keys::kind },
    text: "Those of one kind: `tick`, `hrtimer`, `reschedule`, `function-call`, `nmi`, `work-item`, …; and `page-fault`, \
           `other-task`",
    ..COUNT
};
pub static CAUSED: Figure = Figure {
    name: "cause",
    key: CAUSE,
    text: "Those of one cause, page faults and other user tasks too, such as `fair-server` or `workqueue:vmstat_update`",
    ..COUNT
};
pub static CAUSE_NS: Figure =
    Figure { name: "cause_ns", key: CAUSE, unit: Some("ns"), text: "How long those took", ..COUNT };
pub static TICK_CAUSE: Figure =
    Figure { name: "tick_cause", key: CAUSE, text: "Ticks by one cause", ..COUNT };
pub static UNATTRIBUTED: Figure =
    Figure { name: "unattributed", text: "Interruptions without a known origin", ..COUNT };
pub static UNATTRIBUTED_SHARE: Figure = Figure {
    name: "unattributed_share",
    of_cpus: OfCpus::Mean,
    text: "Their share of all interruptions",
    ..COUNT
};
pub static TIMED_FUNCTION: Figure = Figure {
    name: "function",
    key: FUNCTION,
    text: "Timers that expired with this function, and work items that ran it",
    ..COUNT
};
pub static CALLED_FUNCTION: Figure = Figure {
    name: "called_function",
    key: FUNCTION,
    text: "Calls of this function that another CPU asked for",
    ..COUNT
};
pub static SOFTIRQ: Figure = Figure {
    name: "softirq",
    key: Key::Required { form: "NAME", example: "RCU", refuse: keys::softirq },
    text: "Softirqs: `RCU`, `TIMER`, `SCHED`, …",
    ..COUNT
};
pub static VECTOR: Figure = Figure {
    name: "vector",
    key: Key::Required { form: "NAME", example: "local_timer", refuse: keys::vector },
    text: "Interrupts of one vector, by the name of its trace events: `local_timer`, `reschedule`, \
        `call_function_single`, …; `other` for those that have none",
    ..COUNT
};
pub static CONTEXT_SWITCHES: Figure = Figure { name: "context_switches", text: "Context switches", ..COUNT };
pub static TICK_STOP_SUCCESS: Figure =
    Figure { name: "tick_stop_success", text: "How often the tick was stopped", ..COUNT };
pub static TICK_STOP_FAILED: Figure = Figure {
    name: "tick_stop_failed",
    key: Key::Required { form: "DEPENDENCY", example: "SCHED", refuse: keys::dependency },
    text: "How often it was not: `SCHED`, `RCU`, `RCU_EXP`, `POSIX_TIMER`, `PERF_EVENTS`, `CLOCK_UNSTABLE`",
    ..COUNT
};
pub static EVENT: Figure = Figure {
    name: "event",
    key: Key::Required { form: "SYSTEM:NAME", example: "timer:tick_stop", refuse: keys::event },
    text: "Records of a trace event, those of `events` among them",
    ..MEASURED
};
pub static INTERRUPTS: Figure = Figure {
    name: "interrupts",
    key: Key::Required { form: "ROW", example: "LOC", refuse: keys::any },
    source: Source::Files,
    text: "A row of `/proc/interrupts`: `LOC`, `RES`, `CAL`, …",
    ..MEASURED
};
pub static FILE: Figure = Figure {
    name: "file",
    key: Key::Required { form: "FILE:NAME", example: "softirqs:RCU", refuse: keys::any },
    source: Source::Files,
    text: "How much a number in one of the case's [files](#files-of-the-kernel) grew",
    ..MEASURED
};
pub static SCRIPT_S: Figure =
    Figure { name: "script_s", unit: Some("s"), text: "Time of the script", ..SCRIPT_NS };
pub static SCRIPT_USER_NS: Figure =
    Figure { name: "script_user_ns", text: "Its user time as the kernel accounts it", ..SCRIPT_NS };
pub static SCRIPT_SYSTEM_NS: Figure =
    Figure { name: "script_system_ns", text: "Its system time as the kernel accounts it", ..SCRIPT_NS };
pub static TASK_USER_NS: Figure = Figure {
    name: "task_user_ns",
    key: Key::Required { form: "N", example: "0", refuse: keys::any },
    text: "User time of the case's task N in the window, from 0, as the kernel accounts it",
    ..CLOCK_NS
};
pub static TASK_SYSTEM_NS: Figure = Figure {
    name: "task_system_ns",
    key: Key::Required { form: "N", example: "0", refuse: keys::any },
    text: "System time of the case's task N in the window, from 0, as the kernel accounts it",
    ..CLOCK_NS
};
pub static WINDOW_NS: Figure = Figure { name: "window_ns", text: "The length of the window", ..CLOCK_NS };
pub static SETTLE_NS: Figure =
    Figure { name: "settle_ns", text: "How long the CPUs took to settle before the window", ..CLOCK_NS };
pub static STOLEN_NS: Figure = Figure {
    name: "stolen_ns",
    source: Source::Host,
    text: "On the wall clock: steal, the time for which a CPU of the guest was runnable and the host ran something \
        else (`run_delay` of its thread in /proc/PID/task/TID/schedstat)",
    ..CLOCK_NS
};
pub static LATENCY_MIN_NS: Figure = Figure {
    name: "latency_min_ns",
    key: THREAD,
    text: "The shortest latency that the script's or a task's cyclictest or packets printed, of all threads \
        together, or of thread N",
    ..LATENCY_NS
};
pub static LATENCY_AVG_NS: Figure =
    Figure { name: "latency_avg_ns", key: THREAD, text: "Their mean", ..LATENCY_NS };
pub static LATENCY_MAX_NS: Figure =
    Figure { name: "latency_max_ns", key: THREAD, text: "The longest of them", ..LATENCY_NS };
pub static LATENCY_AT_NS: Figure = Figure {
    name: "latency_ns",
    key: Key::Required { form: "POINT", example: "p99", refuse: keys::latency },
    text: "A point of the packets' distribution, or of cyclictest's histogram (`--histogram`, `--histofall`): `p1`, \
        `p5`, `p10`, `p25`, `p50`, `p75`, `p90`, `p95`, `p99`, `p99.9`, `p99.99`, `mean`",
    ..LATENCY_NS
};
pub static LATENCY_CYCLES: Figure =
    Figure { name: "latency_cycles", unit: Some("1"), text: "How many wake-ups there were", ..LATENCY_NS };
pub static LATENCY_OVERFLOWS: Figure = Figure {
    name: "latency_overflows",
    unit: Some("1"),
    text: "How many of them lie beyond the histogram's limit",
    ..LATENCY_NS
};
pub static TOOL: Figure = Figure {
    name: "tool",
    key: Key::Required { form: "METRIC", example: "fio/JOB/write/iops", refuse: keys::any },
    unit: None,
    source: Source::Tool,
    text: "What another tool printed in the script or a task, by the [name of the metric](formats.md): \
        `tool:fio/writes/write/iops`; of a distribution its points, `…/p99`. Of a task that prints at its end, set \
        `to-its-end`",
    ..MEASURED
};
pub static QPERF: Figure = Figure {
    name: "qperf",
    key: Key::Required { form: "TEST", example: "tcp_lat", refuse: keys::any },
    unit: None,
    source: Source::Tool,
    text: "What the script's qperf printed of a test: of `tcp_lat` and its like the latency, µs, which is half the \
        time of a packet there and back; of `tcp_bw` and its like the bandwidth, B/s",
    ..MEASURED
};
pub static IDLE: Figure = Figure {
    name: "idle",
    key: Key::Required { form: "STATE:WHAT", example: "C6:usage", refuse: keys::idle },
    unit: None,
    source: Source::IdleTrace,
    text: "Counted from the trace by the kernel's own rule, over the sleeps that ended in the window: `usage`, \
        `above`, `below`, and `time`, ns. `resident` is how long the CPU was in the state within the window, ns, a \
        sleep that had not ended included, and `longest` its longest single stay, ns. Without `STATE:` of all \
        states, and `idle:misses` is above and below together",
    ..MEASURED
};
pub static CPUIDLE: Figure = Figure {
    name: "cpuidle",
    key: Key::Required { form: "STATE:WHAT", example: "C6:usage", refuse: keys::cpuidle },
    unit: None,
    source: Source::IdleCounters,
    text: "How much the kernel's own counters `usage`, `above`, `below`, `rejected` and `time`, µs, grew between \
        their two readings",
    ..MEASURED
};
pub static WAKEUP: Figure = Figure {
    name: "wakeup",
    key: Key::Required { form: "STATE:POINT", example: "C6:p99", refuse: keys::wakeup },
    unit: None,
    source: Source::IdleTrace,
    text: "How long woken tasks of the measured CPUs waited, ns, from the moment at which the timer was due or \
        another CPU began to wake the task, until it was switched to; `STATE` is the one that was left for it, \
        without it of all. Points as of `latency_ns`, with `min`, `max`, `mean` and `count`",
    ..MEASURED
};
pub static ENERGY: Figure = Figure {
    name: "energy",
    key: ENERGY_PART,
    unit: Some("J"),
    source: Source::Model,
    text: "Modelled over the window: `cores` (of the measured CPUs), `package` (what the cores share) and `total` \
        (of all CPUs); with `_low` and `_high` the ends of the range",
    ..MEASURED
};
pub static POWER: Figure = Figure {
    name: "power",
    key: ENERGY_PART,
    unit: Some("W"),
    source: Source::Model,
    text: "Modelled: the mean power over the window, by the parts of `energy`",
    ..MEASURED
};
pub static PACKAGE_NS: Figure = Figure {
    name: "package_ns",
    key: Key::Required { form: "STATE", example: "PC6", refuse: keys::any },
    unit: Some("ns"),
    source: Source::Model,
    text: "Modelled: how long a package state would have lasted",
    ..MEASURED
};
pub static SPAN: Figure = Figure {
    name: "span",
    of_cpus: OfCpus::Weighted(&SPANS),
    text: "With `profile = true`: instructions of a kernel entry point, the mean; of the script where there is one, \
        else of the window. KIND as `dyntick lab profile` prints it",
    ..OF_SPANS
};
pub static SPAN_MEDIAN: Figure =
    Figure { name: "span_median", of_cpus: OfCpus::Weighted(&SPANS), text: "Their median", ..OF_SPANS };
pub static SPANS: Figure =
    Figure { name: "spans", unit: Some("1"), text: "How many entries there were", ..OF_SPANS };

/// All of them.
pub static ALL: [&Figure; 48] = [
    &TICKS,
    &TICKS_PER_S,
    &TICKS_SHARE_OF_HZ,
    &LOCAL_TIMER,
    &LOCAL_TIMER_PER_S,
    &INTERRUPTIONS,
    &INTERRUPTED_NS,
    &INTERRUPTION,
    &CAUSED,
    &CAUSE_NS,
    &TICK_CAUSE,
    &UNATTRIBUTED,
    &UNATTRIBUTED_SHARE,
    &TIMED_FUNCTION,
    &CALLED_FUNCTION,
    &SOFTIRQ,
    &VECTOR,
    &CONTEXT_SWITCHES,
    &TICK_STOP_SUCCESS,
    &TICK_STOP_FAILED,
    &EVENT,
    &INTERRUPTS,
    &FILE,
    &SCRIPT_S,
    &SCRIPT_USER_NS,
    &SCRIPT_SYSTEM_NS,
    &TASK_USER_NS,
    &TASK_SYSTEM_NS,
    &WINDOW_NS,
    &SETTLE_NS,
    &STOLEN_NS,
    &LATENCY_MIN_NS,
    &LATENCY_AVG_NS,
    &LATENCY_MAX_NS,
    &LATENCY_AT_NS,
    &LATENCY_CYCLES,
    &LATENCY_OVERFLOWS,
    &TOOL,
    &QPERF,
    &IDLE,
    &CPUIDLE,
    &WAKEUP,
    &ENERGY,
    &POWER,
    &PACKAGE_NS,
    &SPAN,
    &SPAN_MEDIAN,
    &SPANS,
];
