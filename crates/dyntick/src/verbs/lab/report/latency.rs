// SPDX-License-Identifier: GPL-2.0-only
//! The latency part of a study's report: what cyclictest and qperf printed, and the distribution.

use super::titles::Titled;
use dyntick_formats::cyclictest::Thread;
use dyntick_guest::Outcome;
use dyntick_lab::latency::{Latency, Measuring, Meter};
use dyntick_model::Clock;
use dyntick_report::{Axis, Block, Cell, Column, Plot, Series, Shape, Table, row};
use dyntick_stats::Histogram;
use dyntick_study::Case;
use dyntick_study::claims::DIGITS;
use dyntick_study::figure::table::QPERF;
use std::collections::BTreeSet;

/// A bin of the picture, ns: the local APIC's timer of the emulated machine counts in steps of 16 ns,
/// so narrower ones would show a comb.
const BIN_NS: u64 = 16;
/// A unit of those who count in them, ns.
const MICROSECOND: u64 = 1000;

/// The table of all runs with latencies, and what is to be known of those that should have some; nothing where no run
/// measures any.
pub fn blocks(runs: &[Titled<'_>]) -> Vec<Block> {
    let measured = measured(runs);
    let table = (!measured.is_empty()).then(|| Block::Table(table(&measured)));
    let remarks = runs.iter().filter_map(|run| {
        let remark = remark(&run.plan.case, &run.analysis.outcome, run.analysis.latency.is_some())?;
        Some(Block::Paragraph(format!("{}: {remark}", run.title())))
    });
    let blocks: Vec<Block> = table.into_iter().chain(remarks).collect();
    if blocks.is_empty() { blocks } else { [vec![Block::Heading("Wake-up latency".into())], blocks].concat() }
}

/// The reason for which a run has no latencies though it was to measure them, or has those of another time than the
/// window.
fn remark(case: &Case, outcome: &Outcome, has_latencies: bool) -> Option<String> {
    let measuring = Measuring::of(case)?;
    let task = measuring.task?;
    let name = match measuring.meter {
        Meter::Cyclictest => "cyclictest",
        Meter::Packets => "guest-packets",
    };
    let until_the_end = case.tasks.get(task).is_some_and(|task| task.to_its_end);
    if outcome.has_ended_early(task) {
        return Some(format!(
            "{name} ended before the window closed. Its cycles are those from its start, a second before the window, to \
             its end; the other tables count all of the window. As a [case.script] with in-window = true the window is \
             as long as it."
        ));
    }
    (!has_latencies && !until_the_end).then(|| {
        format!(
            "no latencies: {name} was killed at the end of the window, before it printed them. Set to-its-end = true and \
             give it an end of its own (cyclictest -D 5s), or make it the [case.script] with in-window = true."
        )
    })
}

/// The histograms of all runs with latencies.
pub fn picture(runs: &[Titled<'_>]) -> Option<Plot> {
    let mut measured = measured(runs);
    // A cyclictest without --histogram has figures and no panel.
    measured.retain(|(_, latency)| !latency.all().is_empty());
    (!measured.is_empty()).then(|| plot(&measured))
}

fn measured<'a>(runs: &'a [Titled<'_>]) -> Vec<(&'a Titled<'a>, &'a Latency)> {
    runs.iter().filter_map(|run| Some((run, run.analysis.latency.as_ref()?))).collect()
}

/// `least–most` over the threads.
pub fn range(latency: &Latency, of: fn(&Thread) -> u64) -> String {
    let values = || latency.threads.values().map(of);
    match (values().min(), values().max()) {
        (Some(least), Some(most)) if least != most => format!("{least}-{most}"),
        (least, _) => least.map_or(String::new(), |value| value.to_string()),
    }
}

fn table(runs: &[(&Titled<'_>, &Latency)]) -> Table {
    let quantile =
        |latency: &Latency, share: f64| Cell::known(latency.all().quantile(share).map(Cell::Count));
    let smi = |latency: &Latency| {
        let counts: Option<Vec<u64>> = latency.threads.values().map(|thread| thread.smi).collect();
        Cell::known(counts.map(|counts| Cell::Count(counts.iter().sum())))
    };
    let row = |(run, latency): &(&Titled<'_>, &Latency)| {
        row![
            run.title(),
            Cell::Count(latency.threads.len() as u64),
            Cell::Count(latency.cycles()),
            range(latency, |thread| thread.min),
            range(latency, |thread| thread.average),
            quantile(latency, 0.5),
            quantile(latency, 0.99),
            range(latency, |thread| thread.max),
            smi(latency),
        ]
    };
    let mut notes = vec![
        "min, avg, max: the range over the threads, as cyclictest prints them. p50, p99: the latency that half and \
         99 % of all do not exceed; of cyclictest only with a histogram."
            .to_owned(),
    ];
    if runs.iter().any(|(run, _)| run.plan.case.clock == Clock::Virtual) {
        notes.push(
            "In virtual time the CPUs run one at a time on one clock: a thread whose wake-up coincides with work \
             of another CPU waits for it, which it would not do on a real machine. This causes the largest \
             latencies; the bulk of the distribution is not affected."
                .to_owned(),
        );
    }
    if runs.iter().any(|(_, latency)| bin_of(&latency.all()) == MICROSECOND) {
        notes.push(
            "Figures that end in 000 are of a cyclictest without --nsecs, which counts in µs.".to_owned(),
        );
    }
    Table {
        caption: format!("{}, ns.", meters(runs)),
        columns: vec![
            Column::text("case"),
            Column::figure("threads", ""),
            Column::figure("cycles", ""),
            Column::figure("min", "ns"),
            Column::figure("avg", "ns"),
            Column::figure("p50", "ns"),
            Column::figure("p99", "ns"),
            Column::figure("max", "ns"),
            Column::figure("SMI", ""),
        ],
        rows: runs.iter().map(row).collect(),
        notes,
    }
}

/// The programs that measured, in words.
fn meters(runs: &[(&Titled<'_>, &Latency)]) -> String {
    let by = |meter: Meter| runs.iter().any(|(_, latency)| latency.meter == meter);
    match (by(Meter::Cyclictest), by(Meter::Packets)) {
        (true, false) => "cyclictest".into(),
        (false, _) => "From the sending of a packet to its receiver".into(),
        (true, true) => "cyclictest, and from the sending of a packet to its receiver".into(),
    }
}

fn plot(runs: &[(&Titled<'_>, &Latency)]) -> Plot {
    let series = |(run, latency): &(&Titled<'_>, &Latency)| Series {
        name: run.title().to_owned(),
        points: steps(&latency.all(), bin_of(&latency.all())),
    };
    let bins: BTreeSet<u64> = runs.iter().map(|(_, latency)| bin_of(&latency.all())).collect();
    let bins: Vec<String> = bins.into_iter().map(|bin| format!("{bin} ns")).collect();
    Plot {
        caption: format!(
            "Number of wake-ups by latency; bins of {}, all threads together.",
            bins.join(" or ")
        ),
        x: Axis::logarithmic("latency", "ns"),
        y: Axis::logarithmic("wake-ups", ""),
        shape: Shape::Steps,
        series: runs.iter().map(series).collect(),
    }
}

/// The width of a histogram's bins in its picture, ns: a cyclictest without `--nsecs` counts in microseconds, and
/// narrower bins would be a comb.
pub fn bin_of(histogram: &Histogram) -> u64 {
    if !histogram.is_empty() && histogram.iter().all(|(ns, _)| ns % MICROSECOND == 0) {
        MICROSECOND
    } else {
        BIN_NS
    }
}

/// The points of a histogram's picture, in bins of this width, ns.
pub fn steps(histogram: &Histogram, bin: u64) -> Vec<(f64, f64)> {
    with_gaps(histogram.binned(bin).iter().collect(), bin)
}

/// A bin reaches to the next point, so where bins are empty an empty one must say so.
fn with_gaps(bins: Vec<(u64, u64)>, bin: u64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (index, (edge, count)) in bins.iter().enumerate() {
        points.push((*edge as f64, *count as f64));
        let next = edge + bin;
        if bins.get(index + 1).is_none_or(|(following, _)| *following != next) {
            points.push((next as f64, 0.0));
        }
    }
    points
}

/// A row for each run in which qperf ran; nothing where there is none.
pub fn qperf_blocks(runs: &[Titled<'_>]) -> Vec<Block> {
    let of_qperf = |run: &&Titled<'_>| run.analysis.observations.iter().any(|row| row.figure == QPERF.name);
    let runs: Vec<Titled<'_>> = runs.iter().filter(of_qperf).cloned().collect();
    if runs.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Results of qperf".into()), Block::Table(qperf_table(&runs))]
}

fn qperf_table(runs: &[Titled<'_>]) -> Table {
    let mut tests: Vec<(&str, &str)> = Vec::new();
    for row in
        runs.iter().flat_map(|run| run.analysis.observations.iter()).filter(|row| row.figure == QPERF.name)
    {
        if !tests.contains(&(&row.key, &row.unit)) {
            tests.push((&row.key, &row.unit));
        }
    }
    let row = |run: &Titled<'_>| {
        let value = |test: &str| run.analysis.observations.of(QPERF.name, test).next();
        let values = tests
            .iter()
            .map(|(test, _)| Cell::known(value(test).map(|row| Cell::Rounded(row.value, DIGITS))));
        [run.title().into()].into_iter().chain(values).collect()
    };
    let columns = tests.iter().map(|(test, unit)| Column::figure(test, unit));
    Table {
        caption: "What qperf printed; a latency is half of the round-trip time.".into(),
        columns: [Column::text("case")].into_iter().chain(columns).collect(),
        rows: runs.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(to_its_end: bool) -> Case {
        let work = dyntick_guest::Work::Tool(vec!["/usr/bin/cyclictest".to_owned()]);
        let (cpus, policy, partition) = Default::default();
        let tasks = vec![dyntick_guest::Task { cpus, policy, partition, to_its_end, work }];
        Case { tasks, ..Case::new("c", "debian:6.12") }
    }

    fn outcome(notes: Vec<String>) -> Outcome {
        let settled = dyntick_guest::Settled { waited_ns: 0, restless: Default::default() };
        Outcome { settled, window_ns: (0, 1), task_cpu_ns: Vec::new(), script: None, notes }
    }

    #[test]
    fn a_cyclictest_that_does_not_cover_the_window_is_remarked_on() {
        let early = outcome(vec![Outcome::note_of_early_end(0, "exit status: 0")]);
        let whole = outcome(Vec::new());
        let said =
            |to_its_end, outcome: &Outcome, has| remark(&case(to_its_end), outcome, has).unwrap_or_default();
        assert!(said(false, &early, true).starts_with("cyclictest ended before the window closed."));
        assert!(said(false, &whole, false).starts_with("no latencies: cyclictest was killed"));
        assert_eq!(said(true, &whole, true) + &said(false, &whole, true), "");
        assert_eq!(said(true, &whole, false), "", "told to be silent");
        let other = outcome(vec![Outcome::note_of_early_end(10, "exit status: 0")]);
        assert_eq!(said(true, &other, true), "", "another task");
    }

    #[test]
    fn a_histogram_of_microseconds_is_no_comb() {
        let us: Histogram = [(8000, 5), (9000, 7), (12000, 1)].into_iter().collect();
        let ns: Histogram = [(8000, 5), (9016, 7)].into_iter().collect();
        assert_eq!([bin_of(&us), bin_of(&ns), bin_of(&Histogram::default())], [1000, 16, 16]);
        let points = [(8000.0, 5.0), (9000.0, 7.0), (10000.0, 0.0), (12000.0, 1.0), (13000.0, 0.0)];
        assert_eq!(steps(&us, bin_of(&us)), points);
    }

    #[test]
    fn empty_bins_are_seen() {
        let points = with_gaps(vec![(32, 5), (48, 1), (96, 2)], 16);
        assert_eq!(points, [(32.0, 5.0), (48.0, 1.0), (64.0, 0.0), (96.0, 2.0), (112.0, 0.0)]);
    }
}
