// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as a document: the verdict, then the evidence, in as many lines as a reader looks at.

use super::Arguments;
use super::lead;
use super::table::{self, Line, figures_of};
use super::words::counted;
use dyntick_contract::compare::Printed;
use dyntick_report::{Block, Document};
use dyntick_stats::compare::{Basis, Comparison, Figure, Outcome, Row};
use dyntick_stats::{Bounds, NoInterval};

/// The lines of a page without `--full`.
const LINES: usize = 40;

/// The largest number of notes below a table without `--full`.
const NOTES: usize = 6;

/// The parts of the evidence that are shown.
#[derive(Clone, Copy)]
struct Extent {
    /// The lines of a side's table.
    lines: usize,
    notes: usize,
    tails: bool,
    members: bool,
}

const ALL: Extent = Extent { lines: usize::MAX, notes: usize::MAX, tails: true, members: true };

/// The document: with `--full` all of it, else what fits.
pub fn document(printed: &Printed, arguments: &Arguments) -> Document {
    // Without sides as arguments the runs are dyntick's own, not files.
    let of_files = !arguments.sides.is_empty();
    if arguments.full {
        return of_extent(printed, ALL, of_files);
    }
    let sheet = arguments.target.sheet();
    let fits = |document: &Document| sheet.text(document).lines().count() <= LINES;
    let asked = !arguments.above.is_empty();
    let whole = Extent { notes: NOTES, members: false, ..ALL };
    let smaller = [whole, Extent { tails: asked, ..whole }];
    let by_lines = (0..LINES).rev().map(|lines| Extent { lines, tails: asked, ..whole });
    let few_notes = (1..LINES).rev().map(|lines| Extent { lines, notes: 2, tails: asked, members: false });
    let extents = smaller.into_iter().chain(by_lines.take_while(|extent| extent.lines > 4)).chain(few_notes);
    let mut last = None;
    for extent in extents {
        let document = of_extent(printed, extent, of_files);
        if fits(&document) {
            return document;
        }
        last = Some(document);
    }
    last.unwrap_or_default()
}

fn of_extent(printed: &Printed, extent: Extent, of_files: bool) -> Document {
    let comparison = &printed.comparison;
    let sides: Vec<usize> = (1..comparison.labels.len()).collect();
    let headings: Vec<String> = sides
        .iter()
        .map(|side| format!("{} against {}", comparison.labels[*side], comparison.labels[0]))
        .collect();
    let mut document = Document::default();
    for (side, heading) in sides.iter().zip(&headings) {
        let lines = lines(comparison, *side);
        let sentences = lead::sentences(printed, *side, &lines, of_files);
        if let [_] = sides[..] {
            document.title.clone_from(heading);
            document.lead = sentences;
        } else {
            document.title = "Comparison".into();
            document.blocks.push(Block::Heading(heading.clone()));
            document.blocks.extend(sentences.into_iter().map(Block::Paragraph));
        }
        document.blocks.extend(evidence(comparison, *side, lines, extent));
    }
    document.blocks.push(method(comparison));
    document
}

/// The figures of a side.
fn lines(comparison: &Comparison, side: usize) -> Vec<Line<'_>> {
    let rows = comparison.rows.iter().filter(|row| row.side == side);
    let of_row = |row| figures_of(row).into_iter().map(move |(point, figure)| Line { row, point, figure });
    rows.flat_map(of_row).collect()
}

fn evidence(comparison: &Comparison, side: usize, lines: Vec<Line<'_>>, extent: Extent) -> Vec<Block> {
    let labels = [comparison.labels[0].as_str(), comparison.labels[side].as_str()];
    let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.side == side).collect();
    let all = lines.len();
    let mut order: Vec<usize> = (0..all).collect();
    order.sort_by_key(|at| lines[*at].rank());
    order.truncate(extent.lines);
    let mut places = vec![false; all];
    order.iter().for_each(|at| places[*at] = true);
    let mut shown: Vec<Line<'_>> =
        lines.into_iter().zip(places).filter(|(_, shown)| *shown).map(|(line, _)| line).collect();
    shown.dedup_by(|a, b| std::ptr::eq(a.figure, b.figure));
    let mut notes: Vec<String> = doubts(&shown, labels, extent.notes == usize::MAX);
    notes.extend(rows.iter().filter_map(|row| table::refused(row)));
    if notes.len() > extent.notes {
        let more = notes.len() - extent.notes;
        notes.truncate(extent.notes);
        notes.push(format!("{}: --full", counted(more, "more note")));
    }
    if all > shown.len() {
        notes.push(format!("{} not shown: --full", counted(all - shown.len(), "more figure")));
    }
    let mut blocks = vec![table::lines(&shown, labels, comparison.needed_runs, notes)];
    if extent.tails {
        blocks.extend(rows.iter().filter_map(|row| table::tails(row, labels)));
        blocks.extend(untold_limits(comparison, &rows));
    }
    if extent.members {
        blocks.extend(rows.iter().filter_map(|row| table::members(row, labels)));
    }
    blocks
}

/// The doubts about these figures: all, or the first of each kind about each metric.
fn doubts(shown: &[Line<'_>], labels: [&str; 2], all: bool) -> Vec<String> {
    let mut known: Vec<(*const Row, u8)> = Vec::new();
    let mut notes = Vec::new();
    for line in shown {
        for (kind, note) in table::doubts(line, labels) {
            let key = (std::ptr::from_ref(line.row), kind);
            if all || !known.contains(&key) {
                known.push(key);
                notes.push(note);
            }
        }
    }
    notes
}

/// The limits that were asked for and lie within a bucket, or beyond a histogram.
fn untold_limits(comparison: &Comparison, rows: &[&Row]) -> Option<Block> {
    let untold = |limit: &&u64| {
        rows.iter().any(|row| match &row.outcome {
            Outcome::Distribution(all) => all.tails.iter().all(|tail| tail.limit != **limit),
            _ => false,
        })
    };
    let limits: Vec<String> =
        comparison.question.limits.iter().filter(untold).map(|limit| format!("{limit} ns")).collect();
    (!limits.is_empty()).then(|| {
        Block::Paragraph(format!(
            "Samples above {} cannot be counted everywhere: the limit lies within a row of a histogram, or beyond it.",
            limits.join(", ")
        ))
    })
}

/// The method, in a paragraph.
fn method(comparison: &Comparison) -> Block {
    let any =
        |is: fn(&Figure) -> bool| comparison.rows.iter().flat_map(figures_of).any(|(_, figure)| is(figure));
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
    if any(|figure| figure.sides.iter().any(|side| side.range.is_some())) {
        text += " Threads and CPUs of a run are one figure, with their range in brackets.";
    }
    if any(too_few_runs) {
        text += " Where a shift has no interval, there are too few runs for one of 95 %.";
    }
    Block::Paragraph(text)
}

fn too_few_runs(figure: &Figure) -> bool {
    matches!(figure.shift.bounds, Bounds::None(NoInterval::TooFewRuns { .. }))
}
