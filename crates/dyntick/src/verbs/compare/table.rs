// SPDX-License-Identifier: GPL-2.0-only
//! The evidence: a line for each figure, and the samples above limits.

use super::words::{self, DIGITS, number, signed};
use dyntick_model::digits::{rounded, shift};
use dyntick_report::{Block, Cell, Column, Table, numbers, row};
use dyntick_stats::compare::{Change, Figure, Flag, Outcome, Refusal, Row, SideFigure, Verdict};
use dyntick_stats::{Better, Bounds, Estimate, Point, Ratio, Tail};

/// A figure of a row that may be shown.
pub struct Line<'a> {
    pub row: &'a Row,
    pub point: Option<Point>,
    pub figure: &'a Figure,
}

/// The figures of a row with their points.
pub fn figures_of(row: &Row) -> Vec<(Option<Point>, &Figure)> {
    match &row.outcome {
        Outcome::Refused(_) => Vec::new(),
        Outcome::Runs(figure) => vec![(None, figure)],
        Outcome::Distribution(all) => {
            all.points.iter().map(|(point, figure)| (Some(*point), figure)).collect()
        }
    }
}

impl Line<'_> {
    /// The place of a line in the order of what is shown first: what is worse, better or differs.
    pub fn rank(&self) -> (u8, u8) {
        let of_verdict = match self.figure.verdict {
            Verdict::Worse | Verdict::TheChange { change: Change::Worse, .. } => 0,
            Verdict::Better | Verdict::TheChange { change: Change::Better, .. } => 1,
            Verdict::RunsDiffer
            | Verdict::Different
            | Verdict::TheChange { change: Change::Different, .. } => 2,
            Verdict::Unequal => 3,
            Verdict::Inconclusive { .. } => 4,
            Verdict::SameWithin { .. } | Verdict::TheChange { change: Change::None, .. } => 5,
        };
        let of_point = match self.point {
            None | Some(Point::Max) => 1,
            Some(Point::Quantile(0.99 | 0.5)) => 0,
            Some(Point::Quantile(0.9999)) => 2,
            Some(_) => 3,
        };
        (of_verdict, of_point)
    }
}

/// A table of these lines, in their order, the points of a distribution below its name.
///
/// If a side has fewer runs than are needed at all, the lead says how many once.
pub fn lines(lines: &[Line<'_>], labels: [&str; 2], needed: usize, notes: Vec<String>) -> Block {
    let heads = words::short(labels);
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut before: Option<&Row> = None;
    for line in lines {
        if line.point.is_some() && before.is_none_or(|row| !std::ptr::eq(row, line.row)) {
            rows.push(heading(line));
        }
        before = Some(line.row);
        rows.push(cells(line, needed));
    }
    let columns = vec![
        Column::text("metric"),
        Column::text(""),
        Column::figure(&heads[0], ""),
        Column::figure(&heads[1], ""),
        Column::figure("shift [95 %]", "").spare(2),
        Column::figure("shift", "%"),
        Column::figure("p", "").spare(1),
        Column::text("verdict"),
    ];
    Block::Table(Table { caption: String::new(), columns, rows, notes })
}

/// The line of a distribution: its name and its samples.
fn heading(line: &Line<'_>) -> Vec<Cell> {
    let samples = |at: usize| {
        let exposure = line.figure.sides[at].exposure;
        Cell::or_blank(exposure.and_then(|exposure| exposure.samples).map(Cell::Count))
    };
    let known =
        line.figure.sides.iter().any(|side| side.exposure.is_some_and(|exposure| exposure.samples.is_some()));
    let unit = if known { "samples" } else { "" };
    row![words::metric(line.row), unit, samples(0), samples(1), "", "", "", ""]
}

/// A unit in which a figure has few digits, and how many of the metric's units it is.
fn scale(unit: &str, size: f64) -> (String, f64) {
    let steps: &[(&str, f64)] = match unit {
        "ns" => &[("s", 1e9), ("ms", 1e6), ("µs", 1e3)],
        "B/s" => &[("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)],
        _ => &[],
    };
    let step = steps.iter().find(|(_, factor)| size >= *factor);
    step.map_or((unit.to_owned(), 1.0), |(unit, factor)| ((*unit).to_owned(), *factor))
}

/// The unit of a line and its factor. The points of a distribution have one unit, that of its middle.
fn scale_of(line: &Line<'_>) -> (String, f64) {
    let upper =
        |side: &SideFigure| side.known_within.map_or(0.0, |[_, high]| high.abs()).max(side.value.value.abs());
    let size = |figure: &Figure| figure.sides.iter().map(upper).fold(0.0, f64::max);
    let figures = figures_of(line.row);
    let first = figures.first().map_or(line.figure, |(_, figure)| figure);
    scale(&line.row.unit, size(first))
}

fn cells(line: &Line<'_>, needed: usize) -> Vec<Cell> {
    let Line { row, point, figure } = line;
    let (unit, factor) = scale_of(line);
    let p = |p: f64| if p < 0.001 { "<0.001".into() } else { Cell::Fixed(p, 3) };
    let name = point.map_or(words::metric(row), |point| format!("  {point}"));
    let is_share = row.unit == "%";
    row![
        name,
        unit,
        side(&below_max(line, 0), factor, &row.unit),
        side(&below_max(line, 1), factor, &row.unit),
        estimate(&figure.shift, [0, 1].map(|at| figure.sides[at].value.value / factor), factor),
        if is_share { "–".into() } else { figure.percent.map_or("–".into(), signed) },
        Cell::known(figure.adjusted_p.map(p)),
        verdict(&figure.verdict, row.better, figure, needed),
    ]
}

/// A side's figure, of which a quantile within the row of the largest sample is not above that.
fn below_max(line: &Line<'_>, at: usize) -> SideFigure {
    let mut side = line.figure.sides[at].clone();
    let points = figures_of(line.row);
    let max = points.iter().find(|(point, _)| *point == Some(Point::Max)).map(|(_, max)| &max.sides[at]);
    if let (Some(max), Some(Point::Quantile(_))) = (max, line.point) {
        side.value.value = side.value.value.min(max.value.value);
    }
    side
}

/// The range of a figure that is known no better than by this share of it is shown in its place.
const COARSE: f64 = 0.05;

/// The lower end of a range that is less than this share of the upper one is shown as 0.
const NOTHING: f64 = 1e-3;

/// The significant digits of a range over threads or CPUs.
const RANGE_DIGITS: i32 = 2;

/// A side's figure in a unit of `factor` of the metric's, with its range over threads or CPUs.
pub fn side(side: &SideFigure, factor: f64, unit: &str) -> String {
    let text = |value: f64| words::figure(value / factor, unit);
    let value = match side.known_within {
        Some([low, high]) if high - low > high.abs() * COARSE => {
            let low = if low.abs() < high.abs() * NOTHING { 0.0 } else { low };
            format!("{}–{}", text(low), text(high))
        }
        _ => text(side.value.value),
    };
    match side.range {
        Some([low, high]) if text(low) != text(high) => {
            let text =
                |value: f64| if unit == "%" { text(value) } else { rounded(value / factor, RANGE_DIGITS) };
            format!("{value} ({}–{})", text(low), text(high))
        }
        _ => value,
    }
}

/// A side's figure with its unit.
pub fn with_unit(row: &Row, figure: &Figure, at: usize) -> String {
    let point =
        figures_of(row).into_iter().find(|(_, other)| std::ptr::eq(*other, figure)).and_then(|found| found.0);
    let (unit, factor) = scale_of(&Line { row, point, figure });
    let plain = SideFigure { range: None, ..below_max(&Line { row, point, figure }, at) };
    format!("{} {unit}", side(&plain, factor, &row.unit)).trim_end().to_owned()
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

/// A margin of more percent than this says less than that the figures do not show any difference.
const VAGUE: f64 = 50.0;

fn verdict(verdict: &Verdict, better: Better, figure: &Figure, needed: usize) -> String {
    let has_few = figure.sides.iter().any(|side| side.runs < needed);
    match verdict {
        Verdict::Inconclusive { .. } if has_few => "open: too few runs".into(),
        Verdict::Better => "better".into(),
        Verdict::Worse => "worse".into(),
        Verdict::Different => "different".into(),
        Verdict::RunsDiffer => "these runs differ".into(),
        Verdict::Unequal => "not judged: unequal times".into(),
        Verdict::SameWithin { percent } if *percent > VAGUE => "the same as far as shown".into(),
        Verdict::SameWithin { percent } => {
            format!("the same within {} %", number((percent * 10.0).round() / 10.0))
        }
        Verdict::Inconclusive { more_runs: Some(more) } => {
            format!("open (at least {})", numbers::counted(*more, "more run"))
        }
        Verdict::Inconclusive { more_runs: None } => match figure.could_show {
            Some(least) => format!("open (could have shown {})", number(least)),
            None => "open".into(),
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

pub fn refused(row: &Row) -> Option<String> {
    let Outcome::Refused(why) = &row.outcome else { return None };
    let why = match why {
        Refusal::Clocks => "virtual time is not compared with wall time",
        Refusal::Units => "the units differ",
        Refusal::Kinds => "one side has a figure of each run, the other a distribution",
        Refusal::NoValues => "a side has no value",
    };
    Some(format!("{}: not compared: {why}", row.metric))
}

/// The doubts about a line's figure, each with the place of its kind.
pub fn doubts(line: &Line<'_>, labels: [&str; 2]) -> Vec<(u8, String)> {
    let (unit, factor) = scale_of(line);
    let name = words::figure_name(line.row, line.point.as_ref());
    let kind = |flag: &Flag| match flag {
        Flag::Drift { side, .. } => *side as u8,
        Flag::Outlier { side, .. } => 2 + *side as u8,
        Flag::SpreadsDiffer { .. } => 4,
        _ => 5,
    };
    let flagged =
        |flag: &Flag| Some((kind(flag), format!("{name}: {}", flagged(flag, labels, &unit, factor)?)));
    line.figure.flags.iter().filter_map(flagged).collect()
}

/// A doubt in words; `None` for what the verdict says once for all figures.
fn flagged(flag: &Flag, labels: [&str; 2], unit: &str, factor: f64) -> Option<String> {
    let label = |side: usize| labels[side];
    Some(match flag {
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
            format!("{} {unit}", number(outlier.value / factor)).trim_end(),
            number(outlier.distance.abs().round())
        ),
        Flag::SpreadsDiffer { ratio } => {
            format!("the spread of {} is {} times that of {}", labels[1], number(*ratio), labels[0])
        }
        Flag::NotNumbers { side, count } => {
            format!("{count} values of {} are not numbers and are left out", label(*side))
        }
        Flag::OneRun | Flag::TooFewForSoMany { .. } => return None,
    })
}

/// The samples above limits.
pub fn tails(row: &Row, labels: [&str; 2]) -> Option<Block> {
    let Outcome::Distribution(all) = &row.outcome else { return None };
    let several = all.tails.iter().any(|tail| tail.shift.is_some());
    let line = |tail: &Tail| {
        let share = |at: usize| format!("{} of {}", tail.above[at], tail.samples[at]);
        let change = match (&tail.ratio, &tail.shift) {
            (Some(ratio), _) => times(ratio),
            (None, Some(shift)) => estimate(shift, [shift.value; 2], 1.0),
            (None, None) => "–".to_owned(),
        };
        let (unit, factor) = scale(&row.unit, tail.limit as f64);
        let sign = if tail.or_equal { "≥" } else { ">" };
        row![format!("{sign} {} {unit}", number(tail.limit as f64 / factor)), share(0), share(1), change]
    };
    let change = if several { "more in a million [95 %]" } else { "times as frequent [95 %]" };
    let heads = words::short(labels);
    let columns = vec![
        Column::text("samples"),
        Column::figure(&heads[0], ""),
        Column::figure(&heads[1], ""),
        Column::figure(change, ""),
    ];
    (!all.tails.is_empty()).then(|| {
        Block::Table(Table {
            caption: words::metric(row),
            columns,
            rows: all.tails.iter().map(line).collect(),
            notes: Vec::new(),
        })
    })
}

fn times(ratio: &Ratio) -> String {
    let open = |value: Option<f64>| value.map_or("∞".to_owned(), number);
    format!("{} [{} {}]", open(ratio.value), number(ratio.low), open(ratio.high))
}

/// The figures of each thread, CPU or job of a row.
pub fn members(row: &Row, labels: [&str; 2]) -> Option<Block> {
    let fold = row.fold.as_ref()?;
    let figures = figures_of(row);
    let points: Vec<Option<Point>> = figures.iter().map(|(point, _)| *point).collect();
    let (unit, factor) =
        scale_of(&Line { row, point: points.first().copied().flatten(), figure: figures.first()?.1 });
    let heads = words::short(labels);
    let mut columns = vec![Column::text("")];
    for point in &points {
        let name = point.map_or(String::new(), |point| format!("{point} "));
        columns.extend(heads.each_ref().map(|label| Column::figure(format!("{name}{label}").trim(), &unit)));
    }
    let cells = |member: &dyntick_stats::compare::Member| {
        let mut cells: Vec<Cell> = vec![member.name.as_str().into()];
        for point in &points {
            let found = member.at(*point);
            cells.extend([0, 1].map(|at| {
                Cell::known(found.map(|both| Cell::Text(words::figure(both[at] / factor, &row.unit))))
            }));
        }
        cells
    };
    Some(Block::Table(Table {
        caption: format!("{}, not judged one by one", words::metric(row)),
        columns,
        rows: fold.members.iter().map(cells).collect(),
        notes: Vec::new(),
    }))
}
