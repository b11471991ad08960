// SPDX-License-Identifier: GPL-2.0-only
//! Sides compared metric by metric. The first side is what the others are compared with.
//!
//! What is decided how:
//!
//! - One figure of each run: the runs are the sample ([`Basis::Runs`]).
//! - Distributions of several runs on both sides: each point of the distribution (p50, p99, the maximum …) is a
//!   figure of each run, and the runs are the sample, for samples within a run depend on one another.
//! - Distributions of which a side has one run: samples are the sample ([`Basis::Samples`]), as if they were
//!   independent. What is found holds for these runs; how runs differ from one another cannot be known.
//! - Threads, CPUs and jobs of a run are one metric ([`fold`]): they do not repeat the run, and each would count as a
//!   comparison.
//! - Figures of the same samples as a distribution are one of its points, and not compared again.
//! - Runs of virtual time that are equal on each side: no sample ([`Basis::Exact`]). A difference is the change's.
//!
//! All p values of a comparison, of all metrics, points and sides, are one family and adjusted by Holm's
//! method. Intervals are not adjusted: each has its level for itself.

mod figure;
mod flags;
mod fold;
mod verdict;

pub use figure::{Basis, Figure, SideFigure};
pub use flags::Flag;
pub use fold::{Fold, Member, family};
pub use verdict::{ALPHA, Change, Verdict};

use crate::distribution::{Grouped, POINTS, Point, Tail, ladder, more_often};
use crate::superiority::Superiority;
use crate::{Better, Exposure, Metric, MetricName, Samples, Values, holm};
use dyntick_model::Clock;
use dyntick_model::text::natural_order;
use figure::Scale;
use fold::Pair;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One of the things compared: a case, a folder, another tool's file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The label.
    pub label: String,
    /// The metrics, by name.
    pub metrics: BTreeMap<MetricName, Metric>,
}

/// The question of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Up to how many percent of the first side's value a difference does not matter.
    pub same_within: f64,
    /// Above which values samples are counted; empty for limits by the samples themselves ([`ladder`]).
    pub limits: Vec<u64>,
}

impl Default for Question {
    fn default() -> Self {
        Self { same_within: 5.0, limits: Vec::new() }
    }
}

/// Sides compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The labels of the sides; the others are compared with the first.
    pub labels: Vec<String>,
    /// The question.
    pub question: Question,
    /// The number of p values that were adjusted for one another.
    pub tests: usize,
    /// The fewest runs of each side that can show a difference, with this number of comparisons.
    pub needed_runs: usize,
    /// A row for each metric and each side but the first, side by side.
    pub rows: Vec<Row>,
    /// Metrics that only some sides have, with the positions of those that have them.
    pub missing: BTreeMap<MetricName, Vec<usize>>,
}

/// One metric of one side compared with the same of the first side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The metric.
    pub metric: MetricName,
    /// The position of the side that is compared with the first.
    pub side: usize,
    /// The unit of all its figures.
    pub unit: String,
    /// The direction that is an improvement.
    pub better: Better,
    /// The clock of its runs.
    pub clock: Clock,
    /// The threads, CPUs or jobs that this row puts together; none for a single metric.
    pub fold: Option<Fold>,
    /// The result.
    pub outcome: Outcome,
}

/// The result for one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The two cannot be compared.
    Refused(Refusal),
    /// One figure of each run.
    Runs(Box<Figure>),
    /// A distribution of each run.
    Distribution(Distribution),
}

/// The reason for which two metrics of the same name are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// One is of virtual time and one of wall time.
    Clocks,
    /// Their units differ.
    Units,
    /// One has a figure of each run and one a distribution.
    Kinds,
    /// A side has no value.
    NoValues,
}

/// Two distributions compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// At each point that both have.
    pub points: Vec<(Point, Figure)>,
    /// The probability that a sample of the side is larger than one of the first side, all runs together.
    pub superiority: Option<Superiority>,
    /// The numbers of samples above limits.
    pub tails: Vec<Tail>,
    /// Samples that each side's histograms could not hold; points among them are not shown.
    pub overflows: [u64; 2],
}

/// The fewest runs of each side that can decide one of several figures judged together.
pub fn fewest_runs(figures: usize) -> usize {
    crate::shift::fewest(ALPHA / figures.max(1) as f64)
}

impl Comparison {
    /// Compares the sides.
    pub fn of(sides: &[Side], question: Question) -> Self {
        let mut rows = rows(sides, &question);
        let tests = judge(&mut rows, question.same_within);
        let labels = sides.iter().map(|side| side.label.clone()).collect();
        Self { labels, tests, needed_runs: fewest_runs(tests), rows, missing: missing(sides), question }
    }
}

fn rows(sides: &[Side], question: &Question) -> Vec<Row> {
    let Some((first, others)) = sides.split_first() else { return Vec::new() };
    let of_side = |(at, other): (usize, &Side)| {
        let mut pairs = fold::pairs(&first.metrics, &other.metrics);
        pairs.sort_by(|a, b| natural_order(a.name.as_str(), b.name.as_str()));
        let repeats: Vec<Option<MetricName>> =
            pairs.iter().map(|pair| pair.metrics[0].about.summary_of.clone()).collect();
        let rows: Vec<Row> = pairs.into_iter().map(|pair| row(pair, at + 1, question)).collect();
        let shown: Vec<bool> = rows.iter().zip(&repeats).map(|(row, of)| !is_shown(&rows, row, of)).collect();
        rows.into_iter().zip(shown).filter_map(|(row, keep)| keep.then_some(row)).collect::<Vec<Row>>()
    };
    others.iter().enumerate().flat_map(of_side).collect()
}

/// Returns true if a distribution among these rows has the point that this figure is of.
fn is_shown(rows: &[Row], row: &Row, of: &Option<MetricName>) -> bool {
    let Some(of) = of else { return false };
    let distribution = rows.iter().find_map(|other| match &other.outcome {
        Outcome::Distribution(found) if other.metric == *of => Some(found),
        _ => None,
    });
    let has = |is: fn(&Point) -> bool| {
        distribution.is_some_and(|all| all.points.iter().any(|(point, _)| is(point)))
    };
    match row.metric.as_str().rsplit('/').next() {
        Some("max") => has(|point| *point == Point::Max),
        Some("avg" | "mean") => has(|point| *point == Point::Mean),
        _ => has(|point| matches!(point, Point::Quantile(_))),
    }
}

fn missing(sides: &[Side]) -> BTreeMap<MetricName, Vec<usize>> {
    let mut have: BTreeMap<MetricName, Vec<usize>> = BTreeMap::new();
    for (at, side) in sides.iter().enumerate() {
        side.metrics.keys().for_each(|name| have.entry(name.clone()).or_default().push(at));
    }
    have.retain(|_, having| having.len() < sides.len());
    have
}

fn row(pair: Pair<'_>, side: usize, question: &Question) -> Row {
    let Pair { name, metrics, fold } = pair;
    let [a, b] = [&*metrics[0], &*metrics[1]];
    let outcome = if a.clock != b.clock {
        Outcome::Refused(Refusal::Clocks)
    } else if a.unit != b.unit {
        Outcome::Refused(Refusal::Units)
    } else {
        match (&a.values, &b.values) {
            (Values::Runs(a_runs), Values::Runs(b_runs)) => of_runs([a, b], [a_runs, b_runs], fold.as_ref())
                .map_or(Outcome::Refused(Refusal::NoValues), |figure| Outcome::Runs(Box::new(figure))),
            (Values::Distribution(a_runs), Values::Distribution(b_runs)) => {
                distribution([a, b], [a_runs, b_runs], question, fold.as_ref())
            }
            _ => Outcome::Refused(Refusal::Kinds),
        }
    };
    Row {
        metric: name,
        side,
        unit: a.unit.clone(),
        better: direction(a.better, b.better),
        clock: a.clock,
        fold,
        outcome,
    }
}

fn of_runs([a, b]: [&Metric; 2], runs: [&[f64]; 2], fold: Option<&Fold>) -> Option<Figure> {
    let scale = Scale {
        step: a.about.step.max(b.about.step),
        share: a.unit == "%",
        grows: a.about.grows || b.about.grows,
    };
    let exposures = [a, b].map(|metric| Exposure::typical(&metric.about.exposure));
    let mut figure = Figure::of_runs(runs[0], runs[1], a.clock)?;
    let known = [0, 1].map(|side| {
        let value = figure.sides[side].value.value;
        (scale.step > 0.0).then_some((value, value + scale.step))
    });
    figure = figure.known(known).under(scale, exposures);
    Some(figure.ranged(fold, None))
}

/// The direction that either side names; unknown if the sides contradict each other.
fn direction(a: Better, b: Better) -> Better {
    match (a, b) {
        (Better::Unknown, known) | (known, Better::Unknown) => known,
        (a, b) if a == b => a,
        _ => Better::Unknown,
    }
}

fn distribution(
    metrics: [&Metric; 2],
    sides: [&[Samples]; 2],
    question: &Question,
    fold: Option<&Fold>,
) -> Outcome {
    let clock = metrics[0].clock;
    let runs = sides.map(|side| {
        let with_samples = side.iter().map(|run| Grouped::of([run])).filter(|run| run.samples() > 0);
        with_samples.collect::<Vec<Grouped>>()
    });
    if runs.iter().any(Vec::is_empty) {
        return Outcome::Refused(Refusal::NoValues);
    }
    let all = sides.map(Grouped::of);
    let exposures = [0, 1].map(|side| exposure(metrics[side], &runs[side]));
    let exact =
        clock == Clock::Virtual && sides.iter().all(|side| side.windows(2).all(|pair| pair[0] == pair[1]));
    let points = POINTS.into_iter().filter_map(|point| {
        let figure = if exact {
            Figure::exact(
                all_equal(sides[0], point)?,
                all_equal(sides[1], point)?,
                sides.map(<[Samples]>::len),
            )
        } else {
            let scale = Scale { grows: point == Point::Max, ..Scale::default() };
            let figure = Figure::of_point(point, [&runs[0], &runs[1]], clock)?;
            figure.under(scale, exposures).known([0, 1].map(|side| within(&runs[side], point)))
        };
        Some((point, figure.ranged(fold, Some(point))))
    });
    let limits =
        if question.limits.is_empty() { ladder([&all[0], &all[1]]) } else { question.limits.clone() };
    Outcome::Distribution(Distribution {
        points: points.collect(),
        superiority: figure::of_samples(more_often(&all[0], &all[1]), &runs, exact),
        tails: limits.into_iter().filter_map(|limit| Tail::of(limit, [&runs[0], &runs[1]])).collect(),
        overflows: [all[0].overflows(), all[1].overflows()],
    })
}

/// The exposure of a typical run: its samples are counted.
fn exposure(metric: &Metric, runs: &[Grouped]) -> Option<Exposure> {
    let stated = |at: usize| metric.about.exposure.get(at).copied().unwrap_or_default();
    let each =
        runs.iter().enumerate().map(|(at, run)| Exposure { samples: Some(run.samples()), ..stated(at) });
    Exposure::typical(&each.collect::<Vec<Exposure>>())
}

/// The range within which a point is known in a typical run: that of the run in the middle.
fn within(runs: &[Grouped], point: Point) -> Option<(f64, f64)> {
    let mut known: Vec<(f64, f64)> = runs.iter().map(|run| run.known_within(point)).collect::<Option<_>>()?;
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    known.get(known.len() / 2).copied()
}

/// A point of runs that are all equal: a value that occurred, for nothing is uncertain.
fn all_equal(runs: &[Samples], point: Point) -> Option<f64> {
    let first = runs.first()?;
    let expected = Grouped::of([first]).value(point)?;
    let counted = Some(&first.counts).filter(|_| first.overflows == 0);
    match point {
        Point::Quantile(share) => counted?.quantile(share).map(|value| value as f64),
        Point::Mean => counted?.mean(),
        Point::Max => Some(expected),
    }
}

/// Adjusts all p values for one another and gives the verdicts; how many p values there are.
fn judge(rows: &mut [Row], same_within: f64) -> usize {
    let p: Vec<f64> = figures(rows).filter_map(|(_, figure)| figure.test.map(|test| test.p)).collect();
    let drifts: Vec<f64> = figures(rows).flat_map(|(_, figure)| figure.drifts()).collect();
    let (mut adjusted, mut adjusted_drifts) = (holm(&p).into_iter(), holm(&drifts).into_iter());
    for (better, figure) in figures(rows) {
        figure.keep_drifts(&mut adjusted_drifts);
        figure.adjusted_p = figure.test.and_then(|_| adjusted.next());
        figure.judge(better, same_within, p.len());
    }
    p.len()
}

fn figures(rows: &mut [Row]) -> impl Iterator<Item = (Better, &mut Figure)> {
    rows.iter_mut().flat_map(|row| {
        let figures: Vec<&mut Figure> = match &mut row.outcome {
            Outcome::Refused(_) => Vec::new(),
            Outcome::Runs(figure) => vec![figure],
            Outcome::Distribution(found) => found.points.iter_mut().map(|(_, figure)| figure).collect(),
        };
        figures.into_iter().map(|figure| (row.better, figure)).collect::<Vec<_>>()
    })
}
