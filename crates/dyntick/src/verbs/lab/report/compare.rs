// SPDX-License-Identifier: GPL-2.0-only
//! The comparing part of a study's report: what moved, by how much, and where the instructions are.

use super::latency;
use dyntick_lab::compare::{Compared, Shift, SpanShift};
use dyntick_profile::Difference;
use dyntick_report::{Axis, Block, Cell, Column, Plot, Series, Shape, Table, row};
use dyntick_stats::Histogram;
use dyntick_study::claims::DIGITS;

/// The number of functions that are shown; the others are summed up.
const FUNCTIONS: usize = 15;

/// A section for each comparison.
pub fn blocks(comparisons: &[Compared]) -> Vec<Block> {
    comparisons.iter().flat_map(section).collect()
}

fn section(compared: &Compared) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(compared.title.clone())];
    if !compared.latency.is_empty() {
        blocks.push(Block::Table(shifts(compared)));
    }
    blocks.extend(compared.histograms.as_ref().map(|pair| Block::Plot(bulk(compared, pair))));
    if !compared.spans.is_empty() {
        blocks.push(Block::Table(spans(compared)));
    }
    let missing =
        |kind: &String| format!("There is no span '{kind}' in {} or in {}.", compared.with, compared.case);
    blocks.extend(compared.missing.iter().map(missing).map(Block::Paragraph));
    for (kind, difference) in &compared.functions {
        blocks.push(Block::Table(functions(kind, difference, compared)));
        blocks.extend(sum(difference, &compared.latency).map(Block::Paragraph));
    }
    blocks
}

fn signed(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:+.1}").replace(".0", "") }
}

fn relative(with: f64, case: f64) -> Cell {
    Cell::known((with != 0.0).then(|| Cell::signed(Cell::Share(case / with - 1.0))))
}

fn change(a: f64, b: f64) -> Cell {
    Cell::signed(Cell::Rounded(b - a, DIGITS))
}

fn shifts(compared: &Compared) -> Table {
    let row = |shift: &Shift| {
        row![
            shift.point.clone(),
            Cell::Fixed(shift.with, 0),
            Cell::Fixed(shift.case, 0),
            change(shift.with, shift.case),
            relative(shift.with, shift.case),
        ]
    };
    Table {
        caption: format!(
            "Latency: {} against {}, at each quantile of all wake-ups below the histogram's limit.",
            compared.case, compared.with
        ),
        columns: vec![
            Column::text("quantile"),
            Column::figure(&compared.with, "ns"),
            Column::figure(&compared.case, "ns"),
            Column::figure("shift", "ns"),
            Column::figure("", ""),
        ],
        rows: compared.latency.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// The part of both distributions in which nearly all wake-ups are.
fn bulk(compared: &Compared, histograms: &[Histogram; 2]) -> Plot {
    const SHARE: f64 = 0.99;
    let end = histograms.iter().filter_map(|histogram| histogram.quantile(SHARE)).max().unwrap_or(0);
    let bin = histograms.iter().map(latency::bin_of).max().unwrap_or(1);
    let series = |(name, histogram): (&String, &Histogram)| Series {
        name: name.clone(),
        points: latency::steps(&histogram.iter().filter(|(ns, _)| *ns <= end).collect(), bin),
    };
    Plot {
        caption: format!("The fastest {} % of the wake-ups, all threads together.", SHARE * 100.0),
        x: Axis::linear("latency", "ns"),
        y: Axis::linear("wake-ups", ""),
        shape: Shape::Steps,
        series: [&compared.with, &compared.case].into_iter().zip(histograms).map(series).collect(),
    }
}

fn spans(compared: &Compared) -> Table {
    let row = |span: &SpanShift| {
        row![
            span.kind.clone(),
            Cell::Count(span.counts.0),
            Cell::Count(span.counts.1),
            Cell::Rounded(span.with, DIGITS),
            Cell::Rounded(span.case, DIGITS),
            change(span.with, span.case),
        ]
    };
    Table {
        caption: format!(
            "Kernel entry points, mean instructions: {} (a) and {} (b).",
            compared.with, compared.case
        ),
        columns: vec![
            Column::text("entry point"),
            Column::figure("spans a", ""),
            Column::figure("spans b", ""),
            Column::figure("a", ""),
            Column::figure("b", ""),
            Column::figure("b - a", ""),
        ],
        rows: compared.spans.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn functions(kind: &str, difference: &Difference, compared: &Compared) -> Table {
    let cells = |name: &str, a: f64, b: f64| {
        row![name, Cell::Rounded(a, DIGITS), Cell::Rounded(b, DIGITS), change(a, b)]
    };
    let (message, rest) = difference.largest(FUNCTIONS);
    let mut rows: Vec<Vec<Cell>> = message.iter().map(|row| cells(&row.function, row.a, row.b)).collect();
    rows.extend(rest.map(|rest| cells(&format!("{} other functions", rest.functions), rest.a, rest.b)));
    let same: f64 = difference.rows.iter().filter(|row| row.more == 0.0).map(|row| row.a).sum();
    rows.push(cells("functions that did not change", same, same));
    rows.push(cells("total", difference.a, difference.b));
    Table {
        caption: format!(
            "{kind}: mean instructions of each function itself, {} (a) and {} (b), largest difference first.",
            compared.with, compared.case
        ),
        columns: vec![
            Column::text("kernel function"),
            Column::figure("a", ""),
            Column::figure("b", ""),
            Column::figure("b - a", ""),
        ],
        rows,
        notes: Vec::new(),
    }
}

/// The part of cyclictest's shift that the functions explain.
fn sum(difference: &Difference, latency: &[Shift]) -> Option<String> {
    let mean = latency.iter().find(|shift| shift.point == "mean")?;
    let (explained, seen) = (difference.b - difference.a, mean.case - mean.with);
    (seen != 0.0).then(|| {
        format!(
            "The functions' differences add up to {} instructions, which are the same number of ns of virtual time; \
             cyclictest's mean changed by {} ns between the same two runs: {:.1} % of it is explained.",
            signed(explained),
            signed(seen),
            explained / seen * 100.0
        )
    })
}
