// SPDX-License-Identifier: GPL-2.0-only
//! From an explained window to the flat table of figures that is stored, compared and judged, and
//! back to single figures.

use crate::guest::{Outcome, name_of_file};
use crate::idle::RunIdle;
use crate::lab::CaseResult;
use crate::latency::{Latency, QUANTILES};
use crate::observations::Observations;
use crate::printed::TOOL;
use crate::profiles::{RunProfile, kinds_on};
use crate::qemu::Stolen;
use crate::store::Run;
use crate::study::Case;
use crate::study::claims::Figures;
use crate::study::{FILE, QPERF, is_of_idle, is_of_trace};
use dyntick_explain::{Explanation, Summary};
use dyntick_formats::{Observation, qperf};
use dyntick_idle::{Account, Joules};
use dyntick_model::{CpuList, NANOS_PER_SEC};
use std::collections::BTreeMap;

/// Counted from the trace.
const IDLE: &str = "idle";
/// The kernel's own counters of idle states.
const CPUIDLE: &str = "cpuidle";
const WAKEUP: &str = "wakeup";
const ENERGY: &str = "energy";
const POWER: &str = "power";
const PACKAGE_NS: &str = "package_ns";
const EVENT: &str = "event";
/// The time for which a CPU of the guest was ready to run and the host ran something else.
pub const STOLEN_NS: &str = "stolen_ns";
const INTERRUPTS: &str = "interrupts";

/// A number in a file that the case reads.
#[derive(Clone, Debug, PartialEq)]
pub struct FileCount {
    /// File and name, as figures have them.
    pub key: String,
    /// The CPU that it is of; none where it is the machine's.
    pub cpu: Option<u32>,
    /// How much it grew over the window.
    pub grown: i64,
}

/// The key of the figure [`FILE`] for a number in the file at this path: `softirqs:RCU`, and the
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
    explanation: &Explanation,
    events: &BTreeMap<(u32, String), u64>,
    interrupts: &[(String, u32, u64)],
    read: &[FileCount],
    outcome: &Outcome,
) -> Vec<Observation> {
    let mut rows = Rows::default();
    for summary in &explanation.per_cpu {
        rows.cpu = Some(summary.cpu);
        of_cpu(&mut rows, summary);
    }
    for ((cpu, event), count) in events {
        rows.cpu = Some(*cpu);
        rows.count(EVENT, event, *count);
    }
    for (row, cpu, count) in interrupts {
        rows.cpu = Some(*cpu);
        rows.count(INTERRUPTS, row, *count);
    }
    for number in read {
        rows.cpu = number.cpu;
        rows.push(FILE, &number.key, number.grown as f64, "1");
    }
    rows.cpu = None;
    of_machine(&mut rows, outcome);
    rows.rows
}

fn of_cpu(rows: &mut Rows, summary: &Summary) {
    rows.count("ticks", "", summary.ticks);
    rows.push("ticks_per_s", "", summary.ticks_per_second, "1/s");
    rows.push("ticks_share_of_hz", "", summary.share_of_hz, "1");
    rows.count("local_timer", "", summary.local_timer);
    rows.push("local_timer_per_s", "", summary.local_timer_per_second, "1/s");
    rows.count("interruptions", "", summary.interruptions);
    rows.push("interrupted_ns", "", summary.interrupted_ns as f64, "ns");
    rows.count("context_switches", "", summary.context_switches);
    rows.count("unattributed", "", summary.unattributed);
    rows.push("unattributed_share", "", summary.unattributed_share, "1");
    for (kind, count) in &summary.by_kind {
        rows.count("interruption", kind, *count);
    }
    for cause in &summary.by_cause {
        rows.count("cause", cause.cause.as_str(), cause.count);
        rows.count("tick_cause", cause.cause.as_str(), cause.ticks);
        rows.push("cause_ns", cause.cause.as_str(), cause.total_ns as f64, "ns");
    }
    for (function, count) in summary.hrtimers.iter().chain(&summary.timers).chain(&summary.works) {
        rows.count("function", function, *count);
    }
    for (function, count) in &summary.called_functions {
        rows.count("called_function", function, *count);
    }
    for (softirq, count) in &summary.softirqs {
        rows.count("softirq", softirq.kernel_name(), *count);
    }
    for (vector, count) in &summary.vectors {
        rows.count("vector", &format!("{vector:?}"), *count);
    }
    for stop in &summary.tick_stops {
        match stop.success {
            true => rows.count("tick_stop_success", "", stop.count),
            false => rows.count("tick_stop_failed", stop.dependency.kernel_name(), stop.count),
        }
    }
}

fn of_machine(rows: &mut Rows, outcome: &Outcome) {
    let (begin, end) = outcome.window_ns;
    rows.push("window_ns", "", (end - begin) as f64, "ns");
    rows.push("settle_ns", "", outcome.settled.waited_ns as f64, "ns");
    for (number, (user, system)) in outcome.task_cpu_ns.iter().enumerate() {
        rows.push("task_user_ns", &number.to_string(), *user as f64, "ns");
        rows.push("task_system_ns", &number.to_string(), *system as f64, "ns");
    }
    if let Some(script) = &outcome.script {
        rows.push("script_s", "", script.elapsed_ns as f64 / NANOS_PER_SEC as f64, "s");
        rows.push("script_user_ns", "", script.user_ns as f64, "ns");
        rows.push("script_system_ns", "", script.system_ns as f64, "ns");
    }
}

/// What cyclictest measured: of all threads together, and by thread.
pub fn of_latency(latency: &Latency) -> Vec<Observation> {
    let mut rows = Rows::default();
    let threads = || latency.threads.values();
    rows.count("latency_cycles", "", latency.cycles());
    rows.count("latency_overflows", "", latency.overflows());
    rows.push("latency_min_ns", "", threads().map(|t| t.min).min().unwrap_or(0) as f64, "ns");
    rows.push("latency_avg_ns", "", latency.average(), "ns");
    rows.push("latency_max_ns", "", threads().map(|t| t.max).max().unwrap_or(0) as f64, "ns");
    for (number, thread) in &latency.threads {
        let key = number.to_string();
        rows.push("latency_min_ns", &key, thread.min as f64, "ns");
        rows.push("latency_avg_ns", &key, thread.average as f64, "ns");
        rows.push("latency_max_ns", &key, thread.max as f64, "ns");
    }
    let all = latency.all();
    for (name, share) in QUANTILES {
        all.quantile(share).into_iter().for_each(|ns| rows.push("latency_ns", name, ns as f64, "ns"));
    }
    all.mean().into_iter().for_each(|ns| rows.push("latency_ns", "mean", ns, "ns"));
    rows.rows
}

/// What the host took from each CPU of a guest on the wall clock: an upper bound of what it took in the window.
pub fn of_stolen(stolen: &Stolen) -> Vec<Observation> {
    let mut rows = Rows::default();
    for (cpu, ns) in stolen {
        rows.cpu = Some(*cpu);
        rows.push(STOLEN_NS, "", *ns as f64, "ns");
    }
    rows.rows
}

/// What qperf measured in each of its tests: the latency, us, or the bandwidth, B/s.
pub fn of_qperf(tests: &BTreeMap<String, qperf::Values>) -> Vec<Observation> {
    let mut rows = Rows::default();
    for (test, values) in tests {
        for (name, unit) in [("latency", "us"), ("bw", "B/s")] {
            values.get(name).into_iter().for_each(|value| rows.push(QPERF, test, *value, unit));
        }
    }
    rows.rows
}

/// Idle states by CPU, and of the measured CPUs together wake-ups and modelled energy.
pub fn of_idle(idle: &RunIdle, case: &Case) -> Vec<Observation> {
    let mut rows = Rows::default();
    for (cpu, accounts) in &idle.accounts {
        rows.cpu = Some(*cpu);
        for (state, account) in idle.states.0.iter().zip(accounts) {
            let key = |what: &str| format!("{}:{what}", state.name);
            rows.count(IDLE, &key("usage"), account.usage);
            rows.push(IDLE, &key("time"), account.time_ns as f64, "ns");
            rows.push(IDLE, &key("resident"), account.resident_ns as f64, "ns");
            rows.count(IDLE, &key("above"), account.above);
            rows.count(IDLE, &key("below"), account.below);
            rows.push(IDLE, &key("longest"), idle.longest_ns(*cpu, &state.name) as f64, "ns");
        }
        let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>();
        rows.count(IDLE, "usage", sum(|account| account.usage));
        rows.push(IDLE, "time", sum(|account| account.time_ns) as f64, "ns");
        rows.push(IDLE, "resident", sum(|account| account.resident_ns) as f64, "ns");
        rows.count(IDLE, "above", sum(|account| account.above));
        rows.count(IDLE, "below", sum(|account| account.below));
        rows.count(IDLE, "misses", sum(|account| account.above + account.below));
    }
    for one in &idle.comparisons {
        let unit = if one.counter == "time" { "us" } else { "1" };
        rows.cpu = Some(one.cpu);
        rows.push(CPUIDLE, &format!("{}:{}", one.state, one.counter), one.kernel as f64, unit);
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
        rows.count(WAKEUP, &format!("{prefix}count"), latency.total());
        for (name, share) in QUANTILES.into_iter().chain([("min", 0.0), ("max", 1.0)]) {
            let value = latency.quantile(share).into_iter();
            value.for_each(|ns| rows.push(WAKEUP, &format!("{prefix}{name}"), ns as f64, "ns"));
        }
        latency.mean().into_iter().for_each(|ns| rows.push(WAKEUP, &format!("{prefix}mean"), ns, "ns"));
    }
}

/// `energy` in J and `power`, the mean over the window, in W; with the ends of their ranges.
fn of_energy(rows: &mut Rows, idle: &RunIdle, case: &Case) {
    let mut push = |key: &str, joules: Joules, window_ns: u64| {
        let watts = joules.watts_over(window_ns);
        let ends = [
            ("", joules.value, watts.value),
            ("_low", joules.low, watts.low),
            ("_high", joules.high, watts.high),
        ];
        for (end, joules, watts) in ends {
            rows.push(ENERGY, &format!("{key}{end}"), joules, "J");
            rows.push(POWER, &format!("{key}{end}"), watts, "W");
        }
    };
    if let Some(energy) = &idle.energy {
        push("cores", energy.cores(), energy.window_ns);
    }
    if let (Some(all), Some(machine)) = (&idle.energy_of_all, &case.machine) {
        push("package", all.package, all.window_ns);
        push("total", all.total(), all.window_ns);
        for (state, ns) in machine.idle.package_states.iter().zip(&all.package_ns) {
            rows.push(PACKAGE_NS, &state.name, *ns as f64, "ns");
        }
    }
}

/// Instructions by way into the kernel: of the script where there is one, else of the window.
pub fn of_profile(profile: &RunProfile) -> Vec<Observation> {
    let mut rows = Rows::default();
    let Some(phase) = profile.last_phase() else { return rows.rows };
    for cpu in profile.measured_cpus.iter() {
        rows.cpu = Some(cpu);
        for (kind, spans) in kinds_on(phase, &CpuList::from_iter([cpu])) {
            let Some(summary) = spans.summary() else { continue };
            rows.count("spans", &kind, summary.count);
            rows.push("span", &kind, summary.mean, "instructions");
            rows.push("span_median", &kind, summary.median as f64, "instructions");
        }
    }
    rows.rows
}

/// The runs of a study as figures for its claims.
pub struct RunFigures<'a>(pub &'a [CaseResult]);

impl Figures for RunFigures<'_> {
    fn get(&self, case: &Case, figure: &str, cpu: Option<u32>) -> Option<Vec<f64>> {
        self.of_case(case).map(|result| figure_of(result.run.as_ref().ok()?, figure, cpu)).collect()
    }

    fn doubt(&self, case: &Case, figure: &str, cpu: Option<u32>) -> Option<String> {
        self.of_case(case).find_map(|result| doubt(result.run.as_ref().ok()?, figure, cpu))
    }

    fn perturbed(&self, case: &Case, figure: &str, cpu: Option<u32>) -> BTreeMap<u32, Option<f64>> {
        let perturbed = self.0.iter().filter(|result| result.case.id == case.id && result.is_perturbed());
        let value = |result: &CaseResult| {
            let run = result.run.as_ref().ok().filter(|run| doubt(run, figure, cpu).is_none())?;
            figure_of(run, figure, cpu)
        };
        perturbed.map(|result| (result.repetition, value(result))).collect()
    }
}

impl RunFigures<'_> {
    /// The case's own runs.
    fn of_case<'f>(&'f self, case: &'f Case) -> impl Iterator<Item = &'f CaseResult> {
        self.0.iter().filter(|result| result.case.id == case.id && !result.is_perturbed())
    }
}

/// The largest share of the window that the host may take from a CPU before figures of it prove nothing.
const MOST_STOLEN: f64 = 0.01;

/// Why a figure of this run may be wrong: the host took too much time from the CPU, or events of the trace that the
/// figure is counted from were lost.
fn doubt(run: &Run, figure: &str, cpu: Option<u32>) -> Option<String> {
    let one = cpu.map(|cpu| CpuList::from_iter([cpu]));
    let cpus = one.as_ref().unwrap_or(&run.asked.case.measured_cpus);
    taken(&run.observations, run.outcome.window_ns, cpus).or_else(|| lost(run, figure, cpu))
}

/// Why no figure of this run's measured CPUs proves anything: the host took too much time from one of them.
pub fn taken_by_host(run: &Run) -> Option<String> {
    taken(&run.observations, run.outcome.window_ns, &run.asked.case.measured_cpus)
}

/// The CPU from which the host took most, where that is too much.
fn taken(observations: &Observations, (begin, end): (u64, u64), cpus: &CpuList) -> Option<String> {
    let share = |row: &Observation| Some((row.cpu?, row.value / (end - begin).max(1) as f64));
    let stolen = observations.named(STOLEN_NS).filter_map(share);
    let of_cpus = stolen.filter(|(cpu, share)| cpus.contains(*cpu) && *share > MOST_STOLEN);
    let (cpu, share) = of_cpus.max_by(|a, b| a.1.total_cmp(&b.1))?;
    // It is counted from before the window to after it.
    let percent = share.min(1.0) * 100.0;
    Some(format!(
        "steal: the host ran something else for up to {percent:.1} % of the window while CPU {cpu} of the guest was runnable"
    ))
}

fn lost(run: &Run, figure: &str, cpu: Option<u32>) -> Option<String> {
    if !is_of_trace(figure) {
        return None;
    }
    let concerned =
        |lost_on: u32| cpu.map_or(run.asked.case.measured_cpus.contains(lost_on), |c| c == lost_on);
    let mut lost = run.lost_events.iter().filter(|(lost_on, count)| concerned(**lost_on) && **count > 0);
    let (cpu, count) = lost.next()?;
    Some(format!("{count} trace events of CPU {cpu} were lost; raise `trace-buffer` or shorten `measure`"))
}

/// A figure of one run: on one CPU, or of the measured ones together. That is their sum, for a share
/// their mean, and for the mean and the median of spans the mean of the CPUs' weighted by how many
/// spans each has: exact for the mean, and for the median of one CPU. `figure` or `figure:key`.
pub fn figure_of(run: &Run, figure: &str, cpu: Option<u32>) -> Option<f64> {
    let one = cpu.map(|cpu| CpuList::from_iter([cpu]));
    on_cpus(&run.observations, one.as_ref().unwrap_or(&run.asked.case.measured_cpus), figure)
}

fn on_cpus(observations: &Observations, cpus: &CpuList, figure: &str) -> Option<f64> {
    let (name, key) = figure.split_once(':').unwrap_or((figure, ""));
    let values = |name: &str| -> Vec<f64> {
        let wanted = observations.of(name, key);
        wanted.filter(|row| row.cpu.is_none_or(|cpu| cpus.contains(cpu))).map(|row| row.value).collect()
    };
    let of_each = values(name);
    match of_each[..] {
        // What is counted by key has a row only where it happened; what stands alone was measured or not.
        // Of events, of rows of /proc/interrupts, of numbers in files and of idle states there is a row for
        // each that is known, zeros too.
        [] if ["script_", "latency_", "span", QPERF, STOLEN_NS, TOOL]
            .iter()
            .any(|prefix| name.starts_with(prefix)) =>
        {
            None
        }
        [] if [EVENT, INTERRUPTS, FILE].contains(&name) || is_of_idle(name) => None,
        [] => Some(0.0),
        [only] => Some(only),
        _ if ["span", "span_median"].contains(&name) => Some(weighted_mean(&of_each, &values("spans"))),
        _ if name.contains("_share") => Some(of_each.iter().sum::<f64>() / of_each.len() as f64),
        _ => Some(of_each.iter().sum()),
    }
}

fn weighted_mean(values: &[f64], weights: &[f64]) -> f64 {
    let weighted = values.iter().zip(weights).map(|(value, weight)| value * weight);
    weighted.sum::<f64>() / weights.iter().sum::<f64>()
}

#[derive(Default)]
struct Rows {
    cpu: Option<u32>,
    rows: Vec<Observation>,
}

impl Rows {
    fn push(&mut self, figure: &str, key: &str, value: f64, unit: &str) {
        self.rows.push(Observation {
            cpu: self.cpu,
            figure: figure.to_owned(),
            key: key.to_owned(),
            value,
            unit: unit.to_owned(),
        });
    }

    fn count(&mut self, figure: &str, key: &str, count: u64) {
        self.push(figure, key, count as f64, "1");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_profile::{Key, Kind, Phase};

    #[test]
    fn a_cpu_with_more_spans_weighs_more() {
        let mut phase = Phase::default();
        for (cpu, spans) in [(1, vec![100, 200, 900]), (2, vec![500]), (3, vec![7])] {
            let key = Key { cpu, kind: "tick".into() };
            phase.profile.entries.insert(key, Kind { spans, ..Kind::default() });
        }
        let profile = RunProfile {
            case: "c".into(),
            measured_cpus: CpuList::from_iter([1, 2, 3]),
            phases: vec![("window", phase)],
        };
        let rows = Observations::from(of_profile(&profile));
        let on = |cpus: &[u32], figure| on_cpus(&rows, &cpus.iter().copied().collect(), figure);
        assert_eq!(on(&[1], "span:tick"), Some(400.0));
        assert_eq!(on(&[1, 2], "spans:tick"), Some(4.0));
        assert_eq!(on(&[1, 2], "span:tick"), Some(425.0), "1700 instructions in four spans");
        assert_eq!(on(&[1, 2], "span_median:tick"), Some(275.0), "three times 200 and once 500");
        assert_eq!(on(&[1, 2, 4], "span:tick"), Some(425.0));
        assert_eq!(on(&[4], "span:tick"), None);
    }

    #[test]
    fn a_host_that_takes_much_is_named_with_the_cpu() {
        let rows = Observations::from(of_stolen(&[(0, 900), (1, 5), (2, 30)].into()));
        let taken = |cpus: &[u32]| taken(&rows, (1000, 2000), &cpus.iter().copied().collect());
        assert!(taken(&[1, 2]).unwrap().contains("3.0 % of the window while CPU 2"));
        assert_eq!(taken(&[1]), None, "half a percent");
    }

    #[test]
    fn counts_are_added_and_of_shares_the_mean_is_taken() {
        let row = |cpu, figure: &str, value| Observation {
            cpu: Some(cpu),
            figure: figure.into(),
            key: String::new(),
            value,
            unit: "1".into(),
        };
        let rows = Observations::from(vec![
            row(1, "ticks", 3.0),
            row(2, "ticks", 4.0),
            row(1, "x_share", 0.5),
            row(2, "x_share", 1.0),
        ]);
        let on = |figure| on_cpus(&rows, &CpuList::from_iter([1, 2]), figure);
        assert_eq!((on("ticks"), on("x_share")), (Some(7.0), Some(0.75)));
        assert_eq!((on("cause:tick"), on("script_s"), on("event:a:b")), (Some(0.0), None, None));
    }
}
