// SPDX-License-Identifier: GPL-2.0-only
//! The flat table of figures of an explained window, which is stored, compared and judged.

use crate::idle::RunIdle;
use crate::latency::Latency;
use crate::profiles::{RunProfile, kinds_on};
use crate::qemu::Stolen;
use dyntick_explain::Summary;
use dyntick_formats::{Observation, qperf};
use dyntick_guest::{Outcome, name_of_file};
use dyntick_idle::{Account, Modelled};
use dyntick_model::{CpuList, NANOS_PER_SEC};
use dyntick_study::Case;
use dyntick_study::figure::{Figure, QUANTILES, table};
use std::collections::BTreeMap;

/// A number in a file that the case reads.
#[derive(Clone, Debug, PartialEq)]
pub struct FileCount {
    /// File and name, as figures have them.
    pub key: String,
    /// The CPU that it is of; none where it is the machine's.
    pub cpu: Option<u32>,
    /// The increase over the window.
    pub grown: i64,
}

/// The key of the figure [`table::FILE`] for a number in the file at this path: `softirqs:RCU`, and the
/// file's name alone for a file that is one number.
pub fn file_key(path: &str, name: &str) -> String {
    let file = name_of_file(path);
    if name.is_empty() { file.to_owned() } else { format!("{file}:{name}") }
}

/// All figures of one run, in a fixed order.
///
/// `events` are the numbers of trace events by CPU and name, `interrupts` the rows of
/// `/proc/interrupts` over the window: row, CPU, count; `read` the numbers in the case's own files.
pub fn of_run(
    cpus: &[Summary],
    events: &BTreeMap<(u32, String), u64>,
    interrupts: &[(String, u32, u64)],
    read: &[FileCount],
    outcome: &Outcome,
) -> Vec<Observation> {
    let mut rows = Rows::default();
    for summary in cpus {
        rows.cpu = Some(summary.cpu);
        of_cpu(&mut rows, summary);
    }
    for ((cpu, event), count) in events {
        rows.cpu = Some(*cpu);
        rows.count(&table::EVENT, event, *count);
    }
    for (row, cpu, count) in interrupts {
        rows.cpu = Some(*cpu);
        rows.count(&table::INTERRUPTS, row, *count);
    }
    for number in read {
        rows.cpu = number.cpu;
        rows.push(&table::FILE, &number.key, number.grown as f64);
    }
    rows.cpu = None;
    of_machine(&mut rows, outcome);
    rows.rows
}

fn of_cpu(rows: &mut Rows, summary: &Summary) {
    rows.count(&table::TICKS, "", summary.ticks);
    rows.push(&table::TICKS_PER_S, "", summary.ticks_per_second);
    rows.push(&table::TICKS_SHARE_OF_HZ, "", summary.share_of_hz);
    rows.count(&table::LOCAL_TIMER, "", summary.local_timer);
    rows.push(&table::LOCAL_TIMER_PER_S, "", summary.local_timer_per_second);
    rows.count(&table::INTERRUPTIONS, "", summary.interruptions);
    rows.push(&table::INTERRUPTED_NS, "", summary.interrupted_ns as f64);
    rows.count(&table::CONTEXT_SWITCHES, "", summary.context_switches);
    rows.count(&table::UNATTRIBUTED, "", summary.unattributed);
    rows.push(&table::UNATTRIBUTED_SHARE, "", summary.unattributed_share);
    for (kind, count) in &summary.by_kind {
        rows.count(&table::INTERRUPTION, kind, *count);
    }
    for cause in &summary.by_cause {
        let name = cause.cause.to_string();
        rows.count(&table::CAUSED, &name, cause.count);
        rows.count(&table::TICK_CAUSE, &name, cause.ticks);
        rows.push(&table::CAUSE_NS, &name, cause.total_ns as f64);
    }
    for (function, count) in summary.hrtimers.iter().chain(&summary.timers).chain(&summary.works) {
        rows.count(&table::TIMED_FUNCTION, function, *count);
    }
    for (function, count) in &summary.called_functions {
        rows.count(&table::CALLED_FUNCTION, function, *count);
    }
    for (softirq, count) in &summary.softirqs {
        rows.count(&table::SOFTIRQ, softirq.kernel_name(), *count);
    }
    for (vector, count) in &summary.vectors {
        rows.count(&table::VECTOR, vector.name(), *count);
    }
    for stop in &summary.tick_stops {
        if stop.success {
            rows.count(&table::TICK_STOP_SUCCESS, "", stop.count)
        } else {
            rows.count(&table::TICK_STOP_FAILED, stop.dependency.kernel_name(), stop.count)
        }
    }
}

fn of_machine(rows: &mut Rows, outcome: &Outcome) {
    let (begin, end) = outcome.window_ns;
    rows.push(&table::WINDOW_NS, "", (end - begin) as f64);
    rows.push(&table::SETTLE_NS, "", outcome.settled.waited_ns as f64);
    for (number, (user, system)) in outcome.task_cpu_ns.iter().enumerate() {
        rows.push(&table::TASK_USER_NS, &number.to_string(), *user as f64);
        rows.push(&table::TASK_SYSTEM_NS, &number.to_string(), *system as f64);
    }
    if let Some(script) = &outcome.script {
        rows.push(&table::SCRIPT_S, "", script.elapsed_ns as f64 / NANOS_PER_SEC as f64);
        rows.push(&table::SCRIPT_USER_NS, "", script.user_ns as f64);
        rows.push(&table::SCRIPT_SYSTEM_NS, "", script.system_ns as f64);
    }
}

/// The figures of cyclictest: for all threads together, and by thread.
pub fn of_latency(latency: &Latency) -> Vec<Observation> {
    let mut rows = Rows::default();
    let threads = || latency.threads.values();
    rows.count(&table::LATENCY_CYCLES, "", latency.cycles());
    rows.count(&table::LATENCY_OVERFLOWS, "", latency.overflows());
    rows.push(&table::LATENCY_MIN_NS, "", threads().map(|t| t.min).min().unwrap_or(0) as f64);
    rows.push(&table::LATENCY_AVG_NS, "", latency.average());
    rows.push(&table::LATENCY_MAX_NS, "", threads().map(|t| t.max).max().unwrap_or(0) as f64);
    for (number, thread) in &latency.threads {
        let key = number.to_string();
        rows.push(&table::LATENCY_MIN_NS, &key, thread.min as f64);
        rows.push(&table::LATENCY_AVG_NS, &key, thread.average as f64);
        rows.push(&table::LATENCY_MAX_NS, &key, thread.max as f64);
    }
    let all = latency.all();
    for (name, share) in QUANTILES {
        if let Some(ns) = all.quantile(share) {
            rows.push(&table::LATENCY_AT_NS, name, ns as f64);
        }
    }
    if let Some(ns) = all.mean() {
        rows.push(&table::LATENCY_AT_NS, "mean", ns);
    }
    rows.rows
}

/// The time that the host took from each CPU of a guest on the wall clock: an upper bound for the window.
pub fn of_stolen(stolen: &Stolen) -> Vec<Observation> {
    let mut rows = Rows::default();
    for (cpu, ns) in stolen {
        rows.cpu = Some(*cpu);
        rows.push(&table::STOLEN_NS, "", *ns as f64);
    }
    rows.rows
}

/// The figures of each test of qperf: the latency, us, or the bandwidth, B/s.
pub fn of_qperf(tests: &BTreeMap<String, qperf::Values>) -> Vec<Observation> {
    let mut rows = Rows::default();
    for (test, values) in tests {
        for (name, unit) in [("latency", "us"), ("bw", "B/s")] {
            if let Some(value) = values.get(name) {
                rows.push_in(&table::QPERF, test, *value, unit);
            }
        }
    }
    rows.rows
}

/// Idle states by CPU, and of the measured CPUs together wake-ups and modelled energy.
pub fn of_idle(idle: &RunIdle, case: &Case) -> Vec<Observation> {
    let mut rows = Rows::default();
    for (cpu, accounts) in &idle.accounts {
        rows.cpu = Some(*cpu);
        let longest = idle.longest_ns.get(cpu).into_iter().flatten();
        for ((state, account), longest_ns) in idle.states.0.iter().zip(accounts).zip(longest) {
            let key = |what: &str| format!("{}:{what}", state.name);
            rows.count(&table::IDLE, &key("usage"), account.usage);
            rows.push_in(&table::IDLE, &key("time"), account.time_ns as f64, "ns");
            rows.push_in(&table::IDLE, &key("resident"), account.resident_ns as f64, "ns");
            rows.count(&table::IDLE, &key("above"), account.above);
            rows.count(&table::IDLE, &key("below"), account.below);
            rows.push_in(&table::IDLE, &key("longest"), *longest_ns as f64, "ns");
        }
        let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>();
        rows.count(&table::IDLE, "usage", sum(|account| account.usage));
        rows.push_in(&table::IDLE, "time", sum(|account| account.time_ns) as f64, "ns");
        rows.push_in(&table::IDLE, "resident", sum(|account| account.resident_ns) as f64, "ns");
        rows.count(&table::IDLE, "above", sum(|account| account.above));
        rows.count(&table::IDLE, "below", sum(|account| account.below));
        rows.count(&table::IDLE, "misses", sum(|account| account.above + account.below));
    }
    for one in &idle.comparisons {
        let unit = if one.counter == "time" { "us" } else { "1" };
        rows.cpu = Some(one.cpu);
        rows.push_in(&table::CPUIDLE, &format!("{}:{}", one.state, one.counter), one.kernel as f64, unit);
    }
    rows.cpu = None;
    of_wakeups(&mut rows, idle);
    of_energy(&mut rows, idle, case);
    rows.rows
}

fn of_wakeups(rows: &mut Rows, idle: &RunIdle) {
    let states =
        idle.states.0.iter().enumerate().map(|(place, state)| (format!("{}:", state.name), Some(place)));
    for (prefix, state) in states.chain([(String::new(), None)]) {
        let latency = idle.wakeup_latency(state);
        rows.count(&table::WAKEUP, &format!("{prefix}count"), latency.total());
        for (name, share) in QUANTILES.into_iter().chain([("min", 0.0), ("max", 1.0)]) {
            if let Some(ns) = latency.quantile(share) {
                rows.push_in(&table::WAKEUP, &format!("{prefix}{name}"), ns as f64, "ns");
            }
        }
        if let Some(ns) = latency.mean() {
            rows.push_in(&table::WAKEUP, &format!("{prefix}mean"), ns, "ns");
        }
    }
}

/// `energy` in J and `power`, the mean over the window, in W; with the ends of their ranges.
fn of_energy(rows: &mut Rows, idle: &RunIdle, case: &Case) {
    let mut push = |key: &str, joules: Modelled, window_ns: u64| {
        let watts = joules.mean_power(window_ns);
        let ends = [
            ("", joules.value, watts.value),
            ("_low", joules.low, watts.low),
            ("_high", joules.high, watts.high),
        ];
        for (end, joules, watts) in ends {
            rows.push(&table::ENERGY, &format!("{key}{end}"), joules);
            rows.push(&table::POWER, &format!("{key}{end}"), watts);
        }
    };
    if let Some(energy) = &idle.energy {
        push("cores", energy.cores(), energy.window_ns);
    }
    if let (Some(all), Some(machine)) = (&idle.energy_of_all, &case.machine) {
        push("package", all.package, all.window_ns);
        push("total", all.total(), all.window_ns);
        for (state, ns) in machine.idle.package_states.iter().zip(&all.package_ns) {
            rows.push(&table::PACKAGE_NS, &state.name, *ns as f64);
        }
    }
}

/// Instructions by entry point: of the script where there is one, else of the window.
pub fn of_profile(profile: &RunProfile) -> Vec<Observation> {
    let mut rows = Rows::default();
    let Some(phase) = profile.last_phase() else { return rows.rows };
    for cpu in profile.measured_cpus.iter() {
        rows.cpu = Some(cpu);
        for (kind, spans) in kinds_on(phase, &CpuList::from_iter([cpu])) {
            let Some(summary) = spans.summary() else { continue };
            rows.count(&table::SPANS, &kind, summary.count);
            rows.push(&table::SPAN, &kind, summary.mean);
            rows.push(&table::SPAN_MEDIAN, &kind, summary.median as f64);
        }
    }
    rows.rows
}

#[derive(Default)]
struct Rows {
    cpu: Option<u32>,
    rows: Vec<Observation>,
}

impl Rows {
    fn push(&mut self, figure: &Figure, key: &str, value: f64) {
        self.push_in(figure, key, value, figure.unit.unwrap_or("1"));
    }

    /// Adds a figure whose unit depends on its key.
    fn push_in(&mut self, figure: &Figure, key: &str, value: f64, unit: &str) {
        let (figure, key, unit) = (figure.name.to_owned(), key.to_owned(), unit.to_owned());
        self.rows.push(Observation { cpu: self.cpu, figure, key, value, unit });
    }

    fn count(&mut self, figure: &Figure, key: &str, count: u64) {
        self.push(figure, key, count as f64);
    }
}
