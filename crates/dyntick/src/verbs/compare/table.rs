// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as a document.

use dyntick_model::digits::{rounded, shift};
use dyntick_report::{Block, Cell, Column, Document, Table, row};
use dyntick_stats::compare::{Basis, Change, Comparison, Figure, Flag, Outcome, Refusal, Row, Verdict};
use dyntick_stats::{Better, Bounds, Estimate, NoInterval, Ratio, Tail};

/// The significant digits of a figure.
const DIGITS: i32 = 4;

/// The document: a table for each side but the first.
pub fn document(comparison: &Comparison) -> Document {
    let sides = 1..comparison.labels.len();
    let blocks = sides.flat_map(|side| of_side(comparison, side)).chain([method(comparison)]).collect();
    Document { title: "Comparison".into(), blocks, ..Document::default() }
}

fn of_side(comparison: &Comparison, side: usize) -> Vec<Block> {
    let labels = [comparison.labels[0].as_str(), comparison.labels[side].as_str()];
    let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.side == side).collect();
    let mut blocks = vec![Block::Heading(format!("{} against {}", labels[1], labels[0]))];
    let of_runs: Vec<(String, &Row, &Figure)> = rows.iter().filter_map(|row| of_runs(row)).collect();
    let refused: Vec<String> = rows.iter().filter_map(|row| refused(row)).collect();
    if !(of_runs.is_empty() && refused.is_empty()) {
        blocks.push(table("", "metric", &of_runs, labels, refused));
    }
    for row in rows {
        let Outcome::Distribution(all) = &row.outcome else { continue };
        let points: Vec<_> =
            all.points.iter().map(|(point, figure)| (point.to_string(), row, figure)).collect();
        blocks.push(table(row.metric.as_str(), "", &points, labels, Vec::new()));
        blocks.extend(tails(row, &all.tails, labels));
    }
    blocks
}

fn of_runs(row: &Row) -> Option<(String, &Row, &Figure)> {
    let Outcome::Runs(figure) = &row.outcome else { return None };
    Some((row.metric.to_string(), row, figure))
}

fn table(
    caption: &str,
    first: &str,
    lines: &[(String, &Row, &Figure)],
    labels: [&str; 2],
    mut notes: Vec<String>,
) -> Block {
    for (name, _, figure) in lines {
        for flag in &figure.flags {
            let note = match flag {
                Flag::OneRun => flagged(flag, labels),
                _ => format!("{name}: {}", flagged(flag, labels)),
            };
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    Block::Table(Table {
        caption: caption.to_owned(),
        columns: vec![
            Column::text(first),
            Column::text(""),
            Column::figure(labels[0], ""),
            Column::figure(labels[1], ""),
            Column::figure("shift [95 %]", ""),
            Column::figure("shift", "%"),
            Column::figure("p", ""),
            Column::text("verdict"),
        ],
        rows: lines.iter().map(|(name, row, figure)| cells(name, row, figure)).collect(),
        notes,
    })
}

/// A unit in which a figure has few digits, and how many of the metric's units it is.
fn scale(unit: &str, figure: &Figure) -> (String, f64) {
    let size = figure.sides.iter().map(|side| side.value.value.abs()).fold(0.0, f64::max);
    let steps: &[(&str, f64)] = match unit {
        "ns" => &[("s", 1e9), ("ms", 1e6), ("µs", 1e3)],
        "B/s" => &[("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)],
        _ => &[],
    };
    let step = steps.iter().find(|(_, factor)| size >= *factor);
    step.map_or((unit.to_owned(), 1.0), |(unit, factor)| ((*unit).to_owned(), *factor))
}

fn cells(name: &str, row: &Row, figure: &Figure) -> Vec<Cell> {
    let (unit, factor) = scale(&row.unit, figure);
    let side = |at: usize| Cell::Rounded(figure.sides[at].value.value / factor, DIGITS);
    let p = |p: f64| if p < 0.001 { "<0.001".into() } else { Cell::Fixed(p, 3) };
    row![
        name,
        unit,
        side(0),
        side(1),
        estimate(&figure.shift, [0, 1].map(|at| figure.sides[at].value.value / factor), factor),
        figure.percent.map_or("–".into(), signed),
        Cell::known(figure.adjusted_p.map(p)),
        verdict(&figure.verdict, row.better, figure),
    ]
}

/// A shift between these two figures with its interval, in a unit of `factor` of the metric's.
fn estimate(estimate: &Estimate, beside: [f64; 2], factor: f64) -> String {
    let number = |value: f64| shift(value / factor, beside, DIGITS);
    match estimate.bounds {
        Bounds::Interval(within) => {
            format!("{} [{} {}]", number(estimate.value), number(within.low), number(within.high))
        }
        Bounds::None(_) => number(estimate.value),
    }
}

fn verdict(verdict: &Verdict, better: Better, figure: &Figure) -> String {
    match verdict {
        Verdict::Better => "better".into(),
        Verdict::Worse => "worse".into(),
        Verdict::Different => "different".into(),
        Verdict::SameWithin { percent } => format!("the same within {} %", number(*percent)),
        Verdict::Inconclusive { more_runs: Some(more) } => format!("inconclusive (about {more} runs more)"),
        Verdict::Inconclusive { more_runs: None } => match figure.could_show {
            Some(least) => format!("inconclusive (could have shown {})", number(least)),
            None => "inconclusive".into(),
        },
        Verdict::TheChange { change: Change::None, .. } => "equal".into(),
        Verdict::TheChange { change, .. } => {
            let word = match (change, better) {
                (Change::Better, _) => "better",
                (Change::Worse, _) => "worse",
                _ => "different",
            };
            format!("{word}: exact, due to the change")
        }
    }
}

fn refused(row: &Row) -> Option<String> {
    let Outcome::Refused(why) = &row.outcome else { return None };
    let why = match why {
        Refusal::Clocks => "virtual time is not compared with wall time",
        Refusal::Units => "the units differ",
        Refusal::Kinds => "one side has a figure of each run, the other a distribution",
        Refusal::NoValues => "a side has no value",
    };
    Some(format!("{}: not compared: {why}", row.metric))
}

fn flagged(flag: &Flag, labels: [&str; 2]) -> String {
    let label = |side: usize| labels[side];
    match flag {
        Flag::Drift { side, trend } => {
            let way = if trend.tau > 0.0 { "rises" } else { "falls" };
            format!(
                "{} {way} from run to run (Kendall's tau {:.2}): warm-up, or a machine that changes",
                label(*side),
                trend.tau
            )
        }
        Flag::Outlier { side, outlier } => format!(
            "run {} of {} is {}, {} median deviations away",
            outlier.index + 1,
            label(*side),
            number(outlier.value),
            number(outlier.distance.abs().round())
        ),
        Flag::SpreadsDiffer { ratio } => {
            format!("the spread of {} is {} times that of {}", labels[1], number(*ratio), labels[0])
        }
        Flag::NotNumbers { side, count } => {
            format!("{count} values of {} are not numbers and are left out", label(*side))
        }
        Flag::OneRun => "of one run: the spread between runs is not known".to_owned(),
        Flag::TooFewForSoMany { needed } => {
            format!("this number of comparisons needs {needed} runs of each side; select fewer with --metric")
        }
    }
}

fn tails(row: &Row, tails: &[Tail], labels: [&str; 2]) -> Option<Block> {
    let line = |tail: &Tail| {
        let share = |at: usize| format!("{} of {}", tail.above[at], tail.samples[at]);
        row![
            format!("> {}", tail.limit),
            share(0),
            share(1),
            tail.ratio.as_ref().map_or("–".to_owned(), times),
        ]
    };
    let columns = vec![
        Column::figure("limit", &row.unit),
        Column::figure(labels[0], ""),
        Column::figure(labels[1], ""),
        Column::figure("times as frequent [95 %]", ""),
    ];
    (!tails.is_empty()).then(|| {
        Block::Table(Table {
            caption: format!("{}: samples above a limit", row.metric),
            columns,
            rows: tails.iter().map(line).collect(),
            notes: Vec::new(),
        })
    })
}

fn times(ratio: &Ratio) -> String {
    let open = |value: Option<f64>| value.map_or("∞".to_owned(), number);
    format!("{} [{} {}]", open(ratio.value), number(ratio.low), open(ratio.high))
}

/// The method, in a paragraph.
fn method(comparison: &Comparison) -> Block {
    let any = |is: fn(&Figure) -> bool| comparison.rows.iter().flat_map(figures).any(is);
    let several = if comparison.tests == 1 { "" } else { "s" };
    let mut text = format!(
        "Figures are medians; the shift is Hodges-Lehmann's with its 95 % interval; p is adjusted for {} comparison{several} \
         (Holm). Better, worse and different need p ≤ 0.05 and an interval without 0.",
        comparison.tests,
    );
    if any(|figure| figure.basis == Basis::Exact) {
        text += " Runs in virtual time are identical and not a sample: a difference is due to the change, and has no \
                 interval.";
    }
    if any(too_few_runs) {
        text += " Where a shift has no interval, there are too few runs for one of 95 %.";
    }
    Block::Paragraph(text)
}

fn figures(row: &Row) -> Vec<&Figure> {
    match &row.outcome {
        Outcome::Refused(_) => Vec::new(),
        Outcome::Runs(figure) => vec![figure],
        Outcome::Distribution(all) => all.points.iter().map(|(_, figure)| figure).collect(),
    }
}

fn too_few_runs(figure: &Figure) -> bool {
    matches!(figure.shift.bounds, Bounds::None(NoInterval::TooFewRuns { .. }))
}

/// A change in percent; what is not nothing is never shown as 0.
fn signed(percent: f64) -> String {
    if !percent.is_finite() {
        return "–".to_owned();
    }
    match percent.abs() {
        0.0 => "0".to_owned(),
        ..0.05 => format!("{}<0.1", if percent < 0.0 { '-' } else { '+' }),
        _ => format!("{percent:+.1}"),
    }
}

fn number(value: f64) -> String {
    rounded(value, DIGITS)
}
