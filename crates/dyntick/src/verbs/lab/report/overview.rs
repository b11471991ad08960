// SPDX-License-Identifier: GPL-2.0-only
//! The interruptions of the measured CPUs: a row for each case, and the timeline.

use super::titles::{Titled, kernel_of};
use super::{measured, window_ns};
use crate::classes::Classes;
use dyntick_explain::{CauseId, Summary, rules};
use dyntick_lab::lookup::figure_of;
use dyntick_report::{Block, Cell, Column, Lane, Mark, Table, Timeline, numbers, row};
use dyntick_stats::Summary as Statistics;
use dyntick_study::claims::DIGITS;
use std::collections::BTreeMap;

/// The table of all cases, and below it the single runs of those that were repeated.
pub fn blocks(runs: &[Titled<'_>]) -> Vec<Block> {
    let cases = by_case(runs);
    let repeated: Vec<&[Titled<'_>]> = cases.iter().copied().filter(|runs| runs.len() > 1).collect();
    let mut blocks = vec![Block::Table(table(&cases, runs))];
    if !repeated.is_empty() {
        let single: Vec<&[Titled<'_>]> = repeated.iter().flat_map(|runs| runs.chunks(1)).collect();
        let summary = format!("The {} runs of repeated cases, one by one", single.len());
        blocks.push(Block::Details(summary, vec![Block::Table(table(&single, runs))]));
    }
    blocks
}

/// The runs of each case, which follow each other.
pub fn by_case<'a, 'r>(runs: &'a [Titled<'r>]) -> Vec<&'a [Titled<'r>]> {
    let same = |a: &Titled<'_>, b: &Titled<'_>| {
        a.plan.case.id == b.plan.case.id && a.title_of_all() == b.title_of_all()
    };
    runs.chunk_by(same).collect()
}

fn sum(run: &Titled<'_>, figure: fn(&Summary) -> f64) -> f64 {
    measured(run).map(figure).sum()
}

fn timer_irqs(run: &Titled<'_>) -> f64 {
    sum(run, |summary| summary.local_timer_per_second)
}

fn ticks(run: &Titled<'_>) -> f64 {
    sum(run, |summary| summary.ticks_per_second)
}

fn of_hz(run: &Titled<'_>) -> f64 {
    sum(run, |summary| summary.share_of_hz) / run.plan.case.measured_cpus.len() as f64
}

/// A figure of one run, or the mean of several with its standard deviation.
fn figure(runs: &[Titled<'_>], of: fn(&Titled<'_>) -> f64, cell: fn(f64) -> Cell) -> Cell {
    let values: Vec<f64> = runs.iter().map(of).collect();
    match Statistics::of(&values) {
        Some(all) if all.count > 1 => format!("{} ± {}", cell(all.mean), cell(all.deviation)).into(),
        _ => cell(values[0]),
    }
}

fn range(runs: &[Titled<'_>]) -> Cell {
    let values: Vec<f64> = runs.iter().map(ticks).collect();
    let all = Statistics::of(&values).filter(|all| all.count > 1);
    Cell::or_blank(all.map(|all| format!("{} to {}", numbers::rate(all.min), numbers::rate(all.max)).into()))
}

fn row_of(runs: &[Titled<'_>], repeated: bool) -> Vec<Cell> {
    let first = &runs[0];
    let count = |value: f64| Cell::Count(value.round() as u64);
    let script = figure_of(first, "script_s", None).map(|seconds| Cell::Rounded(seconds, DIGITS));
    let mut row = row![if runs.len() > 1 { first.case_title() } else { title(first) }, kernel_of(first),];
    if repeated {
        row.extend([Cell::Count(runs.len() as u64), range(runs)]);
    }
    row.extend(row![
        figure(runs, timer_irqs, Cell::Rate),
        figure(runs, ticks, Cell::Rate),
        figure(runs, of_hz, Cell::Share),
        figure(runs, |run: &Titled<'_>| sum(run, |summary| summary.interruptions as f64), count),
        Cell::or_blank(script.filter(|_| runs.len() == 1)),
        main_cause(runs),
    ]);
    row
}

/// The name of a single run without the kernel's series, which has a column of its own.
fn title<'a>(run: &'a Titled<'_>) -> &'a str {
    if run.plan.case.repeat > 1 { run.title() } else { run.case_title() }
}

fn table(cases: &[&[Titled<'_>]], runs: &[Titled<'_>]) -> Table {
    let repeated = cases.iter().any(|runs| runs.len() > 1);
    let mut columns = vec![Column::text("case"), Column::text("Linux")];
    if repeated {
        columns.extend([Column::figure("runs", ""), Column::figure("ticks, range", "1/s")]);
    }
    columns.extend([
        Column::figure("timer irqs", "1/s"),
        Column::figure("ticks", "1/s"),
        Column::figure("of HZ", "").spare(2),
        Column::figure("all", "count").spare(1),
        Column::figure("script", "s"),
        Column::text("main cause"),
    ]);
    let mut rows: Vec<Vec<Cell>> = cases.iter().map(|runs| row_of(runs, repeated)).collect();
    // Most studies have no script.
    let script = columns.iter().position(|column| column.header == "script");
    let blank = Cell::or_blank(None);
    if let Some(script) = script.filter(|script| rows.iter().all(|row| row[*script] == blank)) {
        columns.remove(script);
        rows.iter_mut().for_each(|row| drop(row.remove(script)));
    }
    let mut notes = vec![
        "timer irqs: local timer interrupts (ticks and all other timers), as perf's \
         irq_vectors:local_timer_entry counts them; all: all interruptions in the window, without page faults and time slices of other user tasks."
            .to_owned(),
    ];
    if repeated {
        notes.push("Of repeated cases: the mean of the runs ± their standard deviation.".to_owned());
    }
    Table { caption: caption(runs), columns, rows, notes }
}

fn caption(runs: &[Titled<'_>]) -> String {
    let hz = runs.iter().map(|run| run.plan.hz.to_string()).collect();
    let seconds = |run: &Titled<'_>| numbers::plain((window_ns(run) as f64 / 1e8).round() / 10.0);
    let windows = runs.iter().map(|run| format!("{} s", seconds(run))).collect();
    format!("HZ={} in these kernels; windows of {}.", super::distinct(hz), super::distinct(windows))
}

fn main_cause(runs: &[Titled<'_>]) -> String {
    let causes = runs.iter().flat_map(|run| measured(run)).flat_map(|summary| &summary.by_cause);
    let most = causes.max_by_key(|cause| (cause.ticks, cause.count));
    most.map_or("none: not interrupted".to_owned(), |cause| rules::title(&cause.cause))
}

/// The end of each window that the timeline shows enlarged, ns.
const ZOOM_NS: u64 = 100_000_000;

/// The picture of a study's runs: a lane per case, a colour per cause.
pub fn timeline(runs: &[Titled<'_>]) -> Timeline {
    let classes = classes(runs);
    Timeline {
        caption:
            "Timer interrupts of the measured CPUs, coloured by cause. A solid bar stands for events too close together \
             to be drawn apart."
                .into(),
        window_ns: runs.iter().map(|run| window_ns(run)).max().unwrap_or(0),
        zoom_ns: ZOOM_NS,
        classes: classes.legend(),
        merged: classes.merged(),
        lanes: runs.iter().map(|run| lane(run, &classes)).collect(),
    }
}

/// The causes of timer interrupts in all runs, the most frequent first.
fn classes<'a>(runs: &'a [Titled<'_>]) -> Classes<'a> {
    let mut counts: BTreeMap<&CauseId, u64> = BTreeMap::new();
    for (cause, times) in runs.iter().flat_map(|run| &run.analysis.timer_interrupts) {
        *counts.entry(cause).or_default() += times.len() as u64;
    }
    let mut causes: Vec<(&CauseId, u64)> = counts.into_iter().collect();
    causes.sort_by_key(|(cause, count)| (std::cmp::Reverse(*count), *cause));
    Classes::of(causes.into_iter().map(|(cause, _)| cause))
}

fn lane(run: &Titled<'_>, classes: &Classes<'_>) -> Lane {
    let begin = run.analysis.outcome.window_ns.0;
    let mut marks = Vec::new();
    for (cause, times) in &run.analysis.timer_interrupts {
        let Some(class) = classes.place(cause) else { continue };
        marks.extend(times.iter().map(|start_ns| Mark { at_ns: start_ns.saturating_sub(begin), class }));
    }
    marks.sort_by_key(|mark| mark.at_ns);
    let per_second: f64 = measured(run).map(|summary| summary.local_timer_per_second).sum();
    Lane { name: run.title().to_owned(), figure: format!("{} /s", numbers::rate(per_second)), marks }
}
