// SPDX-License-Identifier: GPL-2.0-only
//! Published figures next to the measured ones, as they are and, if the study asks for it, as ratios.

use super::titles::Titled;
use dyntick_lab::lookup::figure_of;
use dyntick_lab::store::Run;
use dyntick_report::{Cell, Column, Table};
use dyntick_study::claims::{DIGITS, number};
use dyntick_study::{Published, PublishedFigure, Study};
use std::collections::BTreeSet;

/// A row for each published figure, in their order.
pub fn table(published: &Published, study: &Study, runs: &[Titled<'_>]) -> Table {
    let variants = variants(published, study);
    let ratios = published.figures.iter().any(|figure| figure.ratio_to.is_some());
    let row = |figure: &PublishedFigure| {
        let first = [&figure.label, &figure.unit, &figure.value].map(|text| Cell::from(text.as_str()));
        let ours = variants.iter().map(|variant| text_of_ours(figure, variant, runs));
        let base = published.base_of(figure);
        let their_ratio = base.and_then(|base| Some(theirs(figure)? / theirs(base)?));
        let our_ratio = |variant: &&str| {
            base.and_then(|base| Some(ours_alone(figure, variant, runs)? / ours_alone(base, variant, runs)?))
        };
        let compared = ratios.then(|| [their_ratio].into_iter().chain(variants.iter().map(our_ratio)));
        let ratios = compared.into_iter().flatten().map(ratio);
        first.into_iter().chain(ours.map(Cell::from)).chain(ratios).collect()
    };
    Table {
        caption: format!("Comparison with the published figures ({}).", published.source),
        columns: columns(&variants, ratios),
        rows: published.figures.iter().map(row).collect(),
        notes: notes(published),
    }
}

/// The variants of the cases that have published figures.
fn variants<'s>(published: &Published, study: &'s Study) -> Vec<&'s str> {
    let meant = || published.figures.iter().map(|figure| study.select(&figure.case).collect::<Vec<_>>());
    // Where each figure is of one variant only, its label says which.
    if meant().all(|cases| cases.len() <= 1) {
        return vec![""];
    }
    let variants: BTreeSet<&str> = meant().flatten().map(|case| case.variant.as_str()).collect();
    variants.into_iter().collect()
}

fn columns(variants: &[&str], ratios: bool) -> Vec<Column> {
    let ours = |variant: &&str| if variant.is_empty() { "here" } else { *variant }.to_owned();
    let mut columns =
        vec![Column::text("published figure"), Column::text("unit"), Column::figure("published", "")];
    columns.extend(variants.iter().map(|variant| Column::figure(&ours(variant), "")));
    if ratios {
        columns.push(Column::figure("published", "ratio"));
        columns.extend(variants.iter().map(|variant| Column::figure(&ours(variant), "ratio")));
    }
    columns
}

/// The notes on figures, each once.
fn notes(published: &Published) -> Vec<String> {
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for figure in published.figures.iter().filter(|figure| !figure.note.is_empty()) {
        match notes.iter_mut().find(|(note, _)| *note == figure.note) {
            Some((_, labels)) => labels.push(&figure.label),
            None => notes.push((&figure.note, vec![&figure.label])),
        }
    }
    let text = |(note, labels): (&str, Vec<&str>)| match labels[..] {
        [only] => format!("{only}: {note}"),
        _ => format!("{} and {} more: {note}", labels[0], labels.len() - 1),
    };
    notes.into_iter().map(text).collect()
}

fn theirs(figure: &PublishedFigure) -> Option<f64> {
    figure.value.parse().ok()
}

/// The run for a published figure.
fn run_of<'r>(figure: &PublishedFigure, variant: &str, runs: &[Titled<'r>]) -> Option<&'r Run> {
    let mut runs = runs.iter().filter(|run| variant.is_empty() || run.plan.case.variant == variant);
    runs.find(|run| run.plan.case.answers_to(&figure.case)).map(Titled::run)
}

fn ours_alone(figure: &PublishedFigure, variant: &str, runs: &[Titled<'_>]) -> Option<f64> {
    figure_of(run_of(figure, variant, runs)?, &figure.figure, None)
}

fn text_of_ours(figure: &PublishedFigure, variant: &str, runs: &[Titled<'_>]) -> String {
    let threads = || of_threads(run_of(figure, variant, runs)?, &figure.figure);
    let ours = threads().or_else(|| ours_alone(figure, variant, runs).map(number));
    match (ours, &figure.our_unit) {
        (Some(ours), Some(unit)) => format!("{ours} {unit}"),
        (Some(ours), None) => ours,
        (None, _) => "–".into(),
    }
}

fn ratio(ratio: Option<f64>) -> Cell {
    Cell::known(ratio.filter(|ratio| ratio.is_finite()).map(|ratio| Cell::Rounded(ratio, DIGITS)))
}

/// cyclictest's figures as they are published: from the least to the most of all threads.
fn of_threads(run: &Run, figure: &str) -> Option<String> {
    let latency = run.analysis.latency.as_ref()?;
    match figure {
        "latency_min_ns" => Some(super::latency::range(latency, |thread| thread.min)),
        "latency_avg_ns" => Some(super::latency::range(latency, |thread| thread.average)),
        "latency_max_ns" => Some(super::latency::range(latency, |thread| thread.max)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(label: &str, note: &str) -> PublishedFigure {
        PublishedFigure { label: label.into(), note: note.into(), ..PublishedFigure::default() }
    }

    #[test]
    fn what_is_said_of_several_figures_is_said_once() {
        let figures = vec![
            figure("idle", "modelled"),
            figure("min", ""),
            figure("max", "of 30"),
            figure("fio", "modelled"),
        ];
        let published = Published { source: "a paper".into(), figures };
        assert_eq!(notes(&published), ["idle and 1 more: modelled", "max: of 30"]);
    }
}
