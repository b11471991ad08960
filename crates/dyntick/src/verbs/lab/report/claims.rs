// SPDX-License-Identifier: GPL-2.0-only
//! The claims of a study in its report, the published figures beside the measured ones, and the gaps.

use super::titles::{Titled, Titles};
use crate::few::few;
use dyntick_lab::lab::{CaseResult, LabError};
use dyntick_lab::lookup::figure_of;
use dyntick_lab::store::Run;
use dyntick_model::text::shortened;
use dyntick_report::numbers::counted;
use dyntick_report::{Cell, Column, Ruling, Table, Verdict};
use dyntick_study::claims::{self, DIGITS, number};
use dyntick_study::{Case, Published, PublishedFigure, Study};
use std::collections::{BTreeMap, BTreeSet};

/// The cases of a study as the report of a claim names them.
pub struct Cases<'a> {
    ran: &'a Ran<'a>,
    /// The titles of the cases that have a run, by id.
    titles: BTreeMap<&'a str, &'a str>,
}

impl<'a> Cases<'a> {
    /// Names the cases by the titles of their runs.
    pub fn of(ran: &'a Ran<'a>, runs: &'a [Titled<'_>]) -> Self {
        let titles = runs.iter().map(|run| (run.run().plan.case.id.as_str(), run.title_of_all()));
        Self { ran, titles: titles.collect() }
    }

    /// A verdict for the report.
    pub fn verdict(&self, verdict: &claims::Verdict) -> Verdict {
        Verdict {
            claim: verdict.claim.text.clone(),
            published: self.ran.study.published.is_some(),
            agreement: verdict.agreement.map(|agreement| agreement.to_string()).unwrap_or_default(),
            rulings: self.ran.rulings(verdict),
            rests_on: verdict.assumption().unwrap_or_default(),
            evidence: verdict.evidence.iter().map(|line| self.named(line)).collect(),
            unknown: verdict.unknown.iter().map(|line| self.named(line)).collect(),
            failed: self.failed(verdict),
            lacking: self.ran.lacking(verdict),
            comment: verdict.claim.comment.clone().unwrap_or_default(),
        }
    }

    /// The checks that do not hold; with the names of the cases if the claim is about several.
    fn failed(&self, verdict: &claims::Verdict) -> Vec<String> {
        let checks = &verdict.claim.checks;
        let is_of_one_case =
            verdict.rulings.len() < 2 && checks.iter().all(|check| check.case == checks[0].case);
        let line = |failed: &claims::Failed| {
            let title = self.titles.get(failed.case.as_str()).copied().unwrap_or(&failed.case);
            if is_of_one_case { failed.to_string() } else { format!("{title}: {failed}") }
        };
        verdict.failed.iter().map(line).collect()
    }

    /// A line of evidence with the case's name in place of its id.
    fn named(&self, line: &str) -> String {
        let found = line.split_once(": ").and_then(|(id, rest)| Some((self.titles.get(id)?, rest)));
        // An id may have a colon and a space nowhere, but that of a kernel has a colon.
        found.map_or_else(|| line.to_owned(), |(title, rest)| format!("{title}: {rest}"))
    }
}

/// The cases of a study, and which of them have been run.
pub struct Ran<'a> {
    study: &'a Study,
    not_run: BTreeSet<&'a str>,
}

impl<'a> Ran<'a> {
    /// Finds the cases of a study that have no result, or only [`LabError::NotRun`].
    pub fn of(study: &'a Study, results: &'a [CaseResult]) -> Self {
        let ran = results.iter().filter(|result| !matches!(result.run, Err(LabError::NotRun)));
        let ran: BTreeSet<&str> = ran.map(|result| result.case.id.as_str()).collect();
        let ids = study.cases.iter().map(|case| case.id.as_str());
        Self { study, not_run: ids.filter(|id| !ran.contains(id)).collect() }
    }

    /// The ids of the cases that have not been run, in the order of the study.
    pub fn not_run(&self) -> Vec<&'a str> {
        self.study.cases.iter().map(|case| case.id.as_str()).filter(|id| self.not_run.contains(id)).collect()
    }

    fn has(&self, case: &Case) -> bool {
        !self.not_run.contains(case.id.as_str())
    }

    /// The rulings on a claim by variant.
    fn rulings(&self, verdict: &claims::Verdict) -> Vec<(String, Ruling)> {
        let mut rulings = Vec::new();
        for (variant, ruling) in &verdict.rulings {
            rulings.push((variant.clone(), self.ruling(verdict, variant, *ruling)));
        }
        rulings
    }

    fn ruling(&self, verdict: &claims::Verdict, variant: &str, ruling: claims::Ruling) -> Ruling {
        match ruling {
            claims::Ruling::Reproduced => Ruling::Reproduced,
            claims::Ruling::Inconclusive => Ruling::Inconclusive,
            claims::Ruling::NotReproduced => Ruling::NotReproduced,
            claims::Ruling::CannotTell
                if verdict.claim.lacks_a_run(self.study, variant, &|case| self.has(case)) =>
            {
                Ruling::NotRun
            }
            claims::Ruling::CannotTell => Ruling::CannotTell,
        }
    }

    /// The case for whose lack each variant of a claim was not run.
    fn lacking(&self, verdict: &claims::Verdict) -> Vec<(String, String)> {
        let of = |(variant, _): &(String, claims::Ruling)| {
            let case = verdict.claim.lacking(self.study, variant, &|case| self.has(case))?;
            Some((variant.clone(), case))
        };
        verdict.rulings.iter().filter_map(of).collect()
    }

    /// The rulings other than *reproduced*, of all claims that this laboratory can judge.
    pub fn open(&self, verdicts: &[claims::Verdict]) -> Vec<Ruling> {
        let judged = verdicts.iter().filter(|verdict| verdict.claim.cannot_tell.is_none());
        let rulings = judged.flat_map(|verdict| self.rulings(verdict)).map(|(_, ruling)| ruling);
        rulings.filter(|ruling| *ruling != Ruling::Reproduced).collect()
    }
}

/// A row for each published figure, in their order.
pub fn published_table(published: &Published, study: &Study, runs: &[Titled<'_>]) -> Table {
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

/// The number of each kind that are named.
const MOST_NAMED: usize = 3;

/// The longest reason that is shown: it is complete in the long report.
const LONGEST_REASON: usize = 120;

/// The longest claim that is repeated beside its reason, and the longest reason, which ends in what there is instead.
const LONGEST_CLAIM: usize = 60;
const LONGEST_UNKNOWN: usize = 240;

/// The line; `None` if there are no gaps.
pub fn gaps(
    titles: &Titles,
    results: &[CaseResult],
    not_run: &[&str],
    verdicts: &[Verdict],
) -> Option<String> {
    let names = |all: Vec<String>| few(all.into_iter(), MOST_NAMED).join(", ");
    let mut parts = Vec::new();
    if !not_run.is_empty() {
        let of = not_run.iter().map(|id| (*id).to_owned()).collect();
        parts.push(format!("{} not run ({})", counted(not_run.len() as u64, "case"), names(of)));
    }
    let failed = failures(titles, results);
    if !failed.is_empty() {
        let runs: usize = failed.iter().map(|failed| failed.cases.len()).sum();
        let reasons = failed.iter().map(|failed| {
            let cases = failed.cases.iter().cloned();
            format!("{}: {}", few(cases, MOST_NAMED).join(", "), failed.reason)
        });
        let reasons = few(reasons, MOST_NAMED).join("; ");
        parts.push(format!("{} without figures ({reasons})", counted(runs as u64, "run")));
    }
    let fewer = fewer(titles, results);
    if !fewer.is_empty() {
        parts.push(format!("fewer runs than asked for ({})", names(fewer)));
    }
    let lossy = |result: &&CaseResult| {
        result
            .run
            .as_ref()
            .is_ok_and(|run| run.analysis.lost_events.values().sum::<u64>() + run.analysis.undecoded > 0)
    };
    let lossy: Vec<String> =
        results.iter().filter(lossy).map(|result| titles.of_case(&result.case)).collect();
    if !lossy.is_empty() {
        let of = counted(lossy.len() as u64, "run");
        parts.push(format!("lost or unreadable trace events in {of} ({})", names(lossy)));
    }
    let open: Vec<String> = verdicts.iter().filter_map(unknown_of).collect();
    if !open.is_empty() {
        let claims = counted(open.len() as u64, "claim");
        // Without any run the reason is the runs'.
        parts.push(if results.iter().any(|result| result.run.is_ok()) {
            format!("{claims} without a figure ({})", names(open))
        } else {
            format!("{claims} without a figure")
        });
    }
    (!parts.is_empty()).then(|| format!("Incomplete: {}.", parts.join("; ")))
}

/// A claim with the first of its figures that is not known, though its cases were run.
fn unknown_of(verdict: &Verdict) -> Option<String> {
    let is_open = verdict.rulings.iter().any(|(_, ruling)| *ruling == Ruling::CannotTell);
    let reason = verdict.unknown.first().filter(|_| is_open)?;
    Some(format!("“{}”: {}", shortened(&verdict.claim, LONGEST_CLAIM), shortened(reason, LONGEST_UNKNOWN)))
}

/// Runs that failed for the same reason.
struct FailedAlike {
    reason: String,
    /// The titles of their cases.
    cases: Vec<String>,
}

/// The reasons of the failed runs, in their order.
fn failures(titles: &Titles, results: &[CaseResult]) -> Vec<FailedAlike> {
    let mut failures: Vec<FailedAlike> = Vec::new();
    for result in results {
        let error = result.run.as_ref().err().filter(|error| !matches!(error, LabError::NotRun));
        let Some(reason) = error.map(LabError::to_string) else { continue };
        let reason = shortened(reason.lines().next().unwrap_or_default(), LONGEST_REASON);
        let case = titles.of_case(&result.case);
        match failures.iter_mut().find(|failed| failed.reason == reason) {
            Some(failed) => failed.cases.push(case),
            None => failures.push(FailedAlike { reason, cases: vec![case] }),
        }
    }
    failures
}

/// Cases that were repeated or perturbed less often than the study wants, as `nohz_full, debian:6.12: 2 of 5`.
fn fewer(titles: &Titles, results: &[CaseResult]) -> Vec<String> {
    let mut by_case: BTreeMap<&str, (&CaseResult, u32)> = BTreeMap::new();
    for result in results.iter().filter(|result| !matches!(result.run, Err(LabError::NotRun))) {
        by_case.entry(result.case.id.as_str()).or_insert((result, 0)).1 += 1;
    }
    let short = |(result, there): (&CaseResult, u32)| {
        let wanted = result.case.repeat.max(1) + result.case.perturb;
        (there < wanted).then(|| format!("{}: {there} of {wanted}", titles.of_case(&result.case)))
    };
    by_case.into_values().filter_map(short).collect()
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
