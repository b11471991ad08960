// SPDX-License-Identifier: GPL-2.0-only
//! The idle part of a study's report: states, wake-ups, the governor's choices with the latency limits that held, and
//! modelled energy.

use super::titles::Titled;
use crate::few::few;
use dyntick_idle::{Account, Modelled};
use dyntick_lab::idle::{InForce, Limits, Predictions, RunIdle};
use dyntick_model::{CpuList, Machine};
use dyntick_report::{Axis, Block, Cell, Column, Plot, Series, Shape, Table, numbers, row};
use dyntick_stats::Histogram;
use dyntick_study::machine::exits;

/// More pictures than this are not looked at one by one.
const MOST_PLOTS: usize = 6;

/// All of it, for the runs that have idle states; nothing where there is none.
pub fn blocks(runs: &[Titled<'_>]) -> Vec<Block> {
    let runs = with_states(runs);
    if runs.is_empty() {
        return Vec::new();
    }
    let mut blocks =
        vec![Block::Heading("Idle states".into()), Block::Table(states(&runs)), Block::Table(choices(&runs))];
    if runs.len() <= MOST_PLOTS {
        blocks.extend(runs.iter().map(|run| Block::Plot(residencies(run))));
    }
    blocks.push(Block::Table(wakeups(&runs)));
    blocks.extend(predictions(&runs).map(Block::Table));
    if runs.iter().any(|run| run.idle().energy.is_some()) {
        blocks.push(Block::Table(energy(&runs)));
    }
    blocks
}

/// The entries of each state, their durations and their misses: a row for each run and state.
pub fn states(runs: &[Idling<'_>]) -> Table {
    let rows = |run: &Idling<'_>| {
        let row = |(place, account): (usize, &Account)| {
            row![
                if place == 0 { run.title() } else { String::new() },
                run.idle().states.0[place].name.clone(),
                Cell::Count(account.usage),
                Cell::Share(account.resident_ns as f64 / run.cpu_ns() as f64),
                Cell::Count(account.above),
                Cell::Count(account.below),
                quantile(&account.residency, 0.5),
                quantile(&account.residency, 0.99),
            ]
        };
        run.accounts().iter().enumerate().map(row).collect::<Vec<_>>()
    };
    let mut notes = vec![
        "above: too deep, the sleep was shorter than the state's target residency; below: too shallow, the next \
         deeper state would have been a better match. Both by the kernel's own rule, which knows no latency limit, \
         counted from the trace."
            .to_owned(),
    ];
    notes.extend(agreement(runs));
    notes.extend(emulated(runs));
    Table {
        caption: "Idle states of the measured CPUs.".into(),
        columns: vec![
            Column::text("case"),
            Column::text("state"),
            Column::figure("usage", ""),
            Column::figure("time", ""),
            Column::figure("above", ""),
            Column::figure("below", ""),
            Column::figure("median sleep", ""),
            Column::figure("p99", ""),
        ],
        rows: runs.iter().flat_map(rows).collect(),
        notes,
    }
}

/// The agreement of the trace with the kernel's counters.
fn agreement(runs: &[Idling<'_>]) -> Vec<String> {
    let compared: usize = runs.iter().map(|run| run.idle().comparisons.len()).sum();
    let mut notes: Vec<String> = runs
        .iter()
        .flat_map(|run| run.idle().disagreements().map(|one| (run.title(), one)))
        .map(|(title, one)| {
            format!(
                "{title}: the kernel counts {} {} of {} on CPU {}, the trace {}.",
                one.kernel, one.counter, one.state, one.cpu, one.trace.0
            )
        })
        .collect();
    if notes.is_empty() && compared > 0 {
        notes.push(
            "The kernel's own counters (cpuidle/stateN/usage, above, below of every CPU) agree, and no entry \
             was rejected."
                .into(),
        );
    }
    notes
}

/// The sources of exit times of the machines, each once.
fn emulated(runs: &[Idling<'_>]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for machine in runs.iter().filter_map(Idling::machine) {
        let message = format!("Emulated: {}.", exits::in_words(machine));
        if !all.contains(&message) {
            all.push(message);
        }
    }
    all
}

/// The predictions of the menu governor with its tick stopped, by the state that it chose; `None` if no kernel reports
/// them.
fn predictions(runs: &[Idling<'_>]) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = runs.iter().flat_map(predictions_of).collect();
    let columns = vec![
        Column::text("case"),
        Column::text("chosen"),
        Column::figure("times", ""),
        Column::figure("predicted", "median"),
        Column::figure("next timer", "median"),
        Column::figure("used", "median"),
        Column::figure("idle", "median"),
        Column::figure("longest stay", ""),
    ];
    let notes = vec![
        "predicted: the idle time that menu expected; used: the time by which it selected, after its rule for a \
         stopped tick; idle: until the wake-up (power:menu_predict of the patch menu-predict-event)."
            .to_owned(),
    ];
    let caption = "Selections of menu with the tick stopped.".into();
    (!rows.is_empty()).then_some(Table { caption, columns, rows, notes })
}

fn predictions_of(run: &Idling<'_>) -> Vec<Vec<Cell>> {
    let idle = run.idle();
    let mut rows = Vec::new();
    for (place, (state, choices)) in idle.states.0.iter().zip(&idle.choices).enumerate() {
        let predicted = &choices.predicted;
        if predicted.predicted_ns.is_empty() {
            continue;
        }
        let of_cpu = |cpu| idle.longest_ns.get(&cpu)?.get(place).copied();
        let longest = run.measured().iter().filter_map(of_cpu).max().unwrap_or(0);
        rows.push(row![
            if rows.is_empty() { run.title() } else { String::new() },
            state.name.clone(),
            Cell::Count(predicted.predicted_ns.total()),
            quantile(&predicted.predicted_ns, 0.5),
            next_timer(&predicted.next_timer_ns),
            next_timer(&predicted.used_ns),
            quantile(&predicted.idle_ns, 0.5),
            Cell::Duration(longest as f64),
        ]);
    }
    rows
}

/// The median, where no timer counts as the farthest.
fn next_timer(timers: &Histogram) -> Cell {
    let median = timers.quantile(0.5).filter(|ns| *ns != Predictions::NO_TIMER);
    median.map_or("none".into(), |ns| Cell::Duration(ns as f64))
}

/// The durations of sleeps, by state.
pub fn residencies(run: &Idling<'_>) -> Plot {
    let accounts = run.accounts();
    let entered = run.idle().states.0.iter().zip(&accounts).filter(|(_, account)| account.usage > 0);
    let series = entered.map(|(state, account)| Series {
        name: state.name.clone(),
        points: steps(&account.residency.octaves()),
    });
    Plot {
        caption: format!("{}: number of sleeps by duration; bins double in width.", run.title()),
        x: Axis::logarithmic("sleep", "ns"),
        y: Axis::logarithmic("sleeps", ""),
        shape: Shape::Steps,
        series: series.collect(),
    }
}

/// A bin reaches to the next point, so where bins are empty an empty one must say so.
fn steps(octaves: &Histogram) -> Vec<(f64, f64)> {
    let bins: Vec<(u64, u64)> = octaves.iter().collect();
    let mut points = Vec::new();
    for (index, (edge, count)) in bins.iter().enumerate() {
        points.push((*edge as f64, *count as f64));
        if bins.get(index + 1).is_none_or(|(next, _)| *next != edge * 2) {
            points.push((*edge as f64 * 2.0, 0.0));
        }
    }
    points
}

/// The waiting times of woken tasks, by the state that had to be left for them.
pub fn wakeups(runs: &[Idling<'_>]) -> Table {
    let rows = |run: &Idling<'_>| {
        let idle = run.idle();
        let states = idle.states.0.iter().enumerate().map(|(place, state)| (Some(place), state.name.clone()));
        let row = |(state, name): (Option<usize>, String)| {
            let latency = idle.wakeup_latency(state);
            (latency.total() > 0).then(|| {
                let message = [0.5, 0.9, 0.99, 1.0].map(|share| quantile(&latency, share));
                [row![name, Cell::Count(latency.total())], message.to_vec()].concat()
            })
        };
        let rows = states.chain([(None, "all".to_owned())]).filter_map(row).enumerate();
        rows.map(|(number, row)| {
            let title = if number == 0 { run.title() } else { String::new() };
            [row![title], row].concat()
        })
        .collect::<Vec<_>>()
    };
    let mut notes = vec![
        "From the time at which the timer was due, or another CPU began to wake the task, until the task was \
         switched to; all: with wake-ups on a CPU that was awake."
            .to_owned(),
    ];
    notes.extend(emulated(runs));
    Table {
        caption: "Wake-up latency of the tasks of the measured CPUs, by the idle state that was left.".into(),
        columns: vec![
            Column::text("case"),
            Column::text("state"),
            Column::figure("wake-ups", ""),
            Column::figure("median", ""),
            Column::figure("p90", ""),
            Column::figure("p99", ""),
            Column::figure("max", ""),
        ],
        rows: runs.iter().flat_map(rows).collect(),
        notes,
    }
}

/// Mean modelled power.
pub fn energy(runs: &[Idling<'_>]) -> Table {
    let row = |run: &Idling<'_>| {
        let idle = run.idle();
        let cores = idle.energy.as_ref().map(|energy| range(energy.cores(), energy.window_ns));
        let all = |of: fn(&dyntick_idle::Energy) -> Modelled| {
            idle.energy_of_all.as_ref().map(|energy| range(of(energy), energy.window_ns))
        };
        let packages = idle.energy_of_all.iter().zip(run.machine()).flat_map(|(energy, machine)| {
            machine.idle.package_states.iter().zip(&energy.package_ns).map(|(state, ns)| {
                format!("{} {}", state.name, numbers::percent(*ns as f64 / energy.window_ns as f64))
            })
        });
        let known = |text: Option<String>| Cell::known(text.map(Cell::Text));
        row![
            run.title(),
            run.machine().map_or(String::new(), |machine| machine.name.clone()),
            known(cores),
            known(all(|energy| energy.package)),
            known(all(|energy| energy.total())),
            packages.collect::<Vec<_>>().join(" "),
        ]
    };
    Table {
        caption:
            "Modelled power, the mean over the window; in brackets the range of the machine's estimates."
                .into(),
        columns: vec![
            Column::text("case"),
            Column::text("machine"),
            Column::figure("measured cores", "W"),
            Column::figure("shared by the package", "W"),
            Column::figure("all", "W"),
            Column::text("package states"),
        ],
        rows: runs.iter().map(row).collect(),
        notes: vec![
            "Modelled, not measured: the time in each state at the power that the machine's file has for it, \
             entering, leaving and working at an active core's, and what the package shares by its package \
             states. `dyntick lab machines NAME` shows the source of each power."
                .into(),
        ],
    }
}

/// `3.2 (2.5-4.1)`
fn range(joules: Modelled, window_ns: u64) -> String {
    let watts = joules.mean_power(window_ns);
    let digits = if watts.value < 10.0 { 2 } else { 1 };
    format!("{:.digits$} ({:.digits$}-{:.digits$})", watts.value, watts.low, watts.high)
}

/// A run that has idle states.
#[derive(Clone, Copy)]
pub struct Idling<'a>(&'a Titled<'a>);

impl Idling<'_> {
    /// The idle states of its CPUs.
    pub fn idle(&self) -> &RunIdle {
        self.0.analysis.idle.as_ref().expect("is chosen for it")
    }

    /// The emulated machine.
    pub fn machine(&self) -> Option<&Machine> {
        self.0.plan.case.machine.as_ref()
    }

    /// The name of the run.
    pub fn title(&self) -> String {
        self.0.title().to_owned()
    }

    /// The measured CPUs.
    pub fn measured(&self) -> &CpuList {
        &self.0.plan.case.measured_cpus
    }

    /// The accounts of the measured CPUs together.
    pub fn accounts(&self) -> Vec<Account> {
        self.idle().of_cpus(self.measured())
    }

    /// The time of all measured CPUs, ns.
    pub fn cpu_ns(&self) -> u64 {
        let (begin, end) = self.idle().window;
        (end - begin) * self.measured().len() as u64
    }
}

/// The runs that have idle states.
pub fn with_states<'a>(runs: &'a [Titled<'_>]) -> Vec<Idling<'a>> {
    runs.iter().filter(|run| run.analysis.idle.is_some()).map(Idling).collect()
}

/// A quantile of durations.
pub fn quantile(histogram: &Histogram, share: f64) -> Cell {
    Cell::known(histogram.quantile(share).map(|ns| Cell::Duration(ns as f64)))
}

/// The number of runs with the same limit that are named.
const MOST_NAMED: usize = 6;

/// The state that would have been right for each chosen one, and the information at the time of the choice.
pub fn choices(runs: &[Idling<'_>]) -> Table {
    let mut names: Vec<String> = Vec::new();
    for state in runs.iter().flat_map(|run| &run.idle().states.0) {
        if !names.contains(&state.name) {
            names.push(state.name.clone());
        }
    }
    let mut columns = vec![Column::text("case"), Column::text("chosen")];
    columns.extend(names.iter().map(|name| Column::figure(&format!("right: {name}"), "")));
    columns.extend([Column::figure("tick stopped", ""), Column::figure("next timer", "median")]);
    Table {
        caption: "Chosen states, and those that were right for the idle time until the wake-up.".into(),
        columns,
        rows: runs.iter().flat_map(|run| choices_of(run, &names)).collect(),
        notes: vec![
            "right: the deepest state whose target residency the idle time reached and whose exit latency is within \
             the latency limit. next timer: the time until the CPU's next hrtimer when the state was entered, as the \
             trace shows it."
                .into(),
            limits_of_runs(runs.iter().map(|run| (run.title(), limit(run.idle(), run.measured()))).collect()),
        ],
    }
}

fn choices_of(run: &Idling<'_>, names: &[String]) -> Vec<Vec<Cell>> {
    let idle = run.idle();
    let mut rows = Vec::new();
    for (state, chosen) in idle.states.0.iter().zip(&idle.choices) {
        let count = chosen.count();
        if count == 0 {
            continue;
        }
        let right = |name: &String| {
            let counts = idle.states.0.iter().zip(&chosen.right);
            Cell::Count(counts.filter(|(state, _)| state.name == *name).map(|(_, count)| count).sum())
        };
        let title = if rows.is_empty() { run.title() } else { String::new() };
        let mut row = row![title, state.name.clone()];
        row.extend(names.iter().map(right));
        row.extend([
            Cell::Share(chosen.tick_stopped as f64 / count as f64),
            quantile(&chosen.next_timer_ns, 0.5),
        ]);
        rows.push(row);
    }
    rows
}

/// The words for no limit.
pub const NO_LIMIT: &str = "none";

/// The latency limit of these CPUs in words, and by whom it was asked for.
pub fn limit(idle: &RunIdle, cpus: &CpuList) -> String {
    let mut different: Vec<(InForce, CpuList)> = Vec::new();
    for cpu in cpus.iter() {
        let limit = idle.limit(cpu);
        match different.iter_mut().find(|(other, _)| *other == limit) {
            Some((_, cpus)) => *cpus = cpus.iter().chain([cpu]).collect(),
            None => different.push((limit, CpuList::from_iter([cpu]))),
        }
    }
    let several = different.len() > 1;
    let message = |(limit, cpus): &(InForce, CpuList)| {
        let words = limit_in_words(*limit, idle.limits.as_ref());
        if several { format!("{words} on CPU {cpus}") } else { words }
    };
    different.iter().map(message).collect::<Vec<_>>().join(" and ")
}

fn limit_in_words(limit: InForce, limits: Option<&Limits>) -> String {
    let us = |us: Option<u32>| us.map_or(NO_LIMIT.to_owned(), |us| format!("{us} µs"));
    match limit {
        InForce::NotRecorded => "not recorded by the dyntick that ran it, and not judged by".to_owned(),
        InForce::Changed(before, after) => {
            format!("{} before the window, {} after it, and not judged by", us(before), us(after))
        }
        InForce::Always(None) => NO_LIMIT.to_owned(),
        InForce::Always(Some(limit)) => format!("{limit} µs{}", by_whom(limit, limits)),
    }
}

/// The processes that requested the limit: for all CPUs, or for one.
fn by_whom(limit: u32, limits: Option<&Limits>) -> String {
    let Some(Limits { before, .. }) = limits else { return String::new() };
    let holders: Vec<String> = before.held_by.iter().cloned().collect();
    if before.of_all_us != Some(limit) {
        ", of pm_qos_resume_latency_us".to_owned()
    } else if holders.is_empty() {
        String::new()
    } else {
        format!(", held by {}", few(holders.into_iter(), MOST_NAMED).join(", "))
    }
}

/// The limits of all runs in a sentence, each with the runs that had it, where they differ.
fn limits_of_runs(of_runs: Vec<(String, String)>) -> String {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (title, limit) in of_runs {
        match all.iter_mut().find(|(other, _)| *other == limit) {
            Some((_, titles)) => titles.push(title),
            None => all.push((limit, vec![title])),
        }
    }
    let named = |(limit, titles): (String, Vec<String>)| {
        format!("{limit} ({})", few(titles.into_iter(), MOST_NAMED).join("; "))
    };
    let message = match &all[..] {
        [(limit, _)] => limit.clone(),
        _ => all.into_iter().map(named).collect::<Vec<_>>().join("; "),
    };
    format!("latency limit (PM QoS): {message}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::LatencyLimits;

    #[test]
    fn empty_bins_are_seen() {
        let histogram: Histogram = [(600, 2), (1500, 1), (9000, 3)].into_iter().collect();
        let points = steps(&histogram.octaves());
        assert_eq!(points, [(512.0, 2.0), (1024.0, 1.0), (2048.0, 0.0), (8192.0, 3.0), (16384.0, 0.0)]);
    }

    fn held(of_all_us: Option<u32>) -> LatencyLimits {
        let held_by = of_all_us.map(|_| "cyclictest".to_owned()).into_iter().collect();
        LatencyLimits { of_all_us, held_by, of_cpus_us: [(1, 20)].into() }
    }

    #[test]
    fn a_limit_with_its_holder_and_an_unknown_one_as_such() {
        let both = |before, after| Limits { before: held(before), after: held(after) };
        let message = |limits: &Limits, us| limit_in_words(InForce::Always(us), Some(limits));
        assert_eq!(message(&both(Some(0), Some(0)), Some(0)), "0 µs, held by cyclictest");
        assert_eq!(message(&both(Some(50), Some(50)), Some(20)), "20 µs, of pm_qos_resume_latency_us");
        assert_eq!(message(&both(None, None), None), "none");
        let changed = limit_in_words(InForce::Changed(Some(0), None), Some(&both(Some(0), None)));
        assert_eq!(changed, "0 µs before the window, none after it, and not judged by");
        assert!(limit_in_words(InForce::NotRecorded, None).starts_with("not recorded"));
    }

    #[test]
    fn runs_are_named_where_their_limits_differ() {
        let message = |all: &[(&str, &str)]| {
            limits_of_runs(
                all.iter().map(|(title, limit)| ((*title).to_owned(), (*limit).to_owned())).collect(),
            )
        };
        assert_eq!(message(&[("a", "none"), ("b", "none")]), "latency limit (PM QoS): none.");
        let differ = message(&[("a", "none"), ("b", "0 µs"), ("c", "none")]);
        assert_eq!(differ, "latency limit (PM QoS): none (a; c); 0 µs (b).");
    }
}
