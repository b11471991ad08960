// SPDX-License-Identifier: GPL-2.0-only
//! The latency part of a study's report: cyclictest's figures as ranges over threads, those of packets, and
//! histograms.

use super::title_of_run;
use dyntick_formats::cyclictest::Thread;
use dyntick_lab::latency::{Latency, Meter};
use dyntick_lab::store::Run;
use dyntick_model::Clock;
use dyntick_report::{Axis, Block, Column, Plot, Series, Shape, Table, numbers};
use dyntick_stats::Histogram;

/// A bin of the picture, ns: the local APIC's timer of the emulated machine counts in steps of 16 ns,
/// so narrower ones would show a comb.
const BIN_NS: u64 = 16;

/// Table and picture of all runs with latencies; nothing where there is none.
pub fn blocks(runs: &[&Run]) -> Vec<Block> {
    let measured: Vec<(&Run, &Latency)> =
        runs.iter().filter_map(|run| Some((*run, run.latency.as_ref()?))).collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Wake-up latency".into()), Block::Table(table(&measured))];
    if measured.iter().any(|(_, latency)| latency.all().total() > 0) {
        blocks.push(Block::Plot(plot(&measured)));
    }
    blocks
}

/// `least–most` over the threads.
pub fn range(latency: &Latency, of: fn(&Thread) -> u64) -> String {
    let values = || latency.threads.values().map(of);
    match (values().min(), values().max()) {
        (Some(least), Some(most)) if least != most => format!("{least}-{most}"),
        (least, _) => least.map_or(String::new(), |value| value.to_string()),
    }
}

fn table(runs: &[(&Run, &Latency)]) -> Table {
    let quantile = |latency: &Latency, share: f64| {
        latency.all().quantile(share).map_or("–".to_owned(), |ns| ns.to_string())
    };
    let smi = |latency: &Latency| {
        let counts: Option<Vec<u64>> = latency.threads.values().map(|thread| thread.smi).collect();
        counts.map_or("–".to_owned(), |counts| counts.iter().sum::<u64>().to_string())
    };
    let row = |(run, latency): &(&Run, &Latency)| {
        vec![
            title_of_run(run),
            latency.threads.len().to_string(),
            numbers::count(latency.cycles()),
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
    if runs.iter().any(|(run, _)| run.asked.case.clock == Clock::Virtual) {
        notes.push(
            "In virtual time the CPUs run one at a time on one clock: a thread whose wake-up coincides with work \
             of another CPU waits for it, which it would not do on a real machine. This causes the largest \
             latencies; the bulk of the distribution is not affected."
                .to_owned(),
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

/// What measured, in words.
fn meters(runs: &[(&Run, &Latency)]) -> String {
    let by = |meter: Meter| runs.iter().any(|(_, latency)| latency.meter == meter);
    match (by(Meter::Cyclictest), by(Meter::Packets)) {
        (true, false) => "cyclictest".into(),
        (false, _) => "From the sending of a packet to its receiver".into(),
        (true, true) => "cyclictest, and from the sending of a packet to its receiver".into(),
    }
}

fn plot(runs: &[(&Run, &Latency)]) -> Plot {
    let series =
        |(run, latency): &(&Run, &Latency)| Series { name: title_of_run(run), points: steps(&latency.all()) };
    Plot {
        caption: format!("Number of wake-ups by latency; bins of {BIN_NS} ns, all threads together."),
        x: Axis::logarithmic("latency", "ns"),
        y: Axis::logarithmic("wake-ups", ""),
        shape: Shape::Steps,
        series: runs.iter().map(series).collect(),
    }
}

/// The points of a histogram's picture, in bins of [`BIN_NS`].
pub fn steps(histogram: &Histogram) -> Vec<(f64, f64)> {
    with_gaps(histogram.binned(BIN_NS).iter().collect())
}

/// A bin reaches to the next point, so where bins are empty an empty one must say so.
fn with_gaps(bins: Vec<(u64, u64)>) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (index, (edge, count)) in bins.iter().enumerate() {
        points.push((*edge as f64, *count as f64));
        let next = edge + BIN_NS;
        if bins.get(index + 1).is_none_or(|(following, _)| *following != next) {
            points.push((next as f64, 0.0));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_bins_are_seen() {
        let points = with_gaps(vec![(32, 5), (48, 1), (96, 2)]);
        assert_eq!(points, [(32.0, 5.0), (48.0, 1.0), (64.0, 0.0), (96.0, 2.0), (112.0, 0.0)]);
    }
}
