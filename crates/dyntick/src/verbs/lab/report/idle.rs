// SPDX-License-Identifier: GPL-2.0-only
//! The idle states of a study's report: what was chosen and how right it was, how long woken tasks waited,
//! and modelled energy.

use super::choices;
use super::idling::{Idling, quantile, with_states};
use super::titles::Titled;
use dyntick_idle::{Account, Modelled};
use dyntick_lab::idle::Predictions;
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
    let mut blocks = vec![
        Block::Heading("Idle states".into()),
        Block::Table(states(&runs)),
        Block::Table(choices::table(&runs)),
    ];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_bins_are_seen() {
        let histogram: Histogram = [(600, 2), (1500, 1), (9000, 3)].into_iter().collect();
        let points = steps(&histogram.octaves());
        assert_eq!(points, [(512.0, 2.0), (1024.0, 1.0), (2048.0, 0.0), (8192.0, 3.0), (16384.0, 0.0)]);
    }
}
