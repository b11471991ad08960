// SPDX-License-Identifier: GPL-2.0-only
//! The short report for a mail: the claims, one table of what the study is about, what ran and what is missing.

use super::measures::{Measure, measures};
use super::titles::{Titled, Titles};
use super::{method, missing, overview, repeat, setups, variants};
use dyntick_lab::lab::CaseResult;
use dyntick_lab::store::Run;
use dyntick_report::{Block, Cell, Column, Document, Ruling, Table, Verdict, score};
use dyntick_study::{Case, Study};

/// A mail of this many lines is read.
const LINES: usize = 40;

/// The parts of the short report.
pub struct Material<'a> {
    /// The study.
    pub study: &'a Study,
    /// The names of its cases.
    pub titles: &'a Titles,
    /// All results, including those of cases without a run.
    pub results: &'a [CaseResult],
    /// The verdicts on the claims.
    pub verdicts: &'a [Verdict],
    /// The runs that are no perturbed ones.
    pub runs: &'a [Titled<'a>],
    /// The ids of the cases that were not run.
    pub not_run: &'a [&'a str],
    /// The number of ticks, in a sentence.
    pub of_ticks: Option<String>,
    /// That runs are from elsewhere.
    pub of_others: Option<String>,
}

/// The number of lines for each part.
#[derive(Clone, Copy)]
struct Room {
    /// Cases in the table.
    cases: usize,
    /// Different values of a setting.
    values: usize,
    /// Claims.
    claims: usize,
}

/// The short form of a report: as many cases, settings and claims as fit on a page of a mail.
pub fn document(long: &Document, material: &Material<'_>) -> Document {
    let measures = measures(material.study, &material.runs.iter().map(Titled::run).collect::<Vec<_>>());
    let is_about_ticks = measures.iter().any(Measure::is_of_ticks);
    let of_ticks = material.of_ticks.iter().filter(|_| is_about_ticks);
    let lead: Vec<String> = of_ticks.chain(&material.of_others).cloned().collect();
    let with = |room: Room| {
        let blocks = blocks(material, &measures, room);
        Document { question: String::new(), lead: lead.clone(), blocks, ..long.clone() }
    };
    let fits = |document: &Document| dyntick_report::mail(document).lines().count() <= LINES;
    let mut all = rooms().map(with);
    all.find(fits).unwrap_or_else(|| with(SMALLEST))
}

const SMALLEST: Room = Room { cases: 2, values: 1, claims: 2 };

/// The sizes from the largest to the smallest: first cases are left out, then their settings, then claims, and at last
/// more cases.
fn rooms() -> impl Iterator<Item = Room> {
    let room = |cases, values, claims| Room { cases, values, claims };
    let cases = (5..=12).rev().map(move |cases| room(cases, 4, usize::MAX));
    let values = (1..=3).rev().map(move |values| room(5, values, usize::MAX));
    let claims = (3..=10).rev().map(move |claims| room(4, 1, claims));
    cases.chain(values).chain(claims).chain([room(3, 1, 3), SMALLEST])
}

fn blocks(material: &Material<'_>, measures: &[Measure], room: Room) -> Vec<Block> {
    let mut blocks = claims(material.verdicts, room.claims);
    blocks.extend(missing::line(material.titles, material.results, material.not_run).map(Block::Paragraph));
    let side_by_side = side_by_side(material, measures, room.cases);
    blocks.extend(side_by_side.or_else(|| cases(material.runs, measures, room.cases)).map(Block::Table));
    if !material.runs.is_empty() {
        let setups = setups::pairs(material.runs, room.values);
        blocks.push(Block::Pairs(setups.into_iter().chain(method::fallbacks(material.runs)).collect()));
        blocks.push(Block::Paragraph(method::sentence(material.runs)));
    }
    if !material.not_run.is_empty() {
        blocks.push(Block::Command("To run what is missing".into(), repeat::command()));
    }
    blocks
}

/// All claims, or those that came out otherwise first.
fn claims(verdicts: &[Verdict], most: usize) -> Vec<Block> {
    if verdicts.is_empty() {
        return Vec::new();
    }
    if verdicts.len() <= most {
        return vec![Block::Scores(verdicts.to_vec())];
    }
    let mut ordered: Vec<&Verdict> = verdicts.iter().collect();
    ordered.sort_by_key(|verdict| verdict.only_ruling() == Some(Ruling::Reproduced));
    let line = |verdict: &&Verdict| {
        let sign = verdict.only_ruling().map_or("/", Ruling::sign);
        (sign.to_owned(), verdict.in_short())
    };
    vec![
        Block::Paragraph(format!("{}. {} of them:", score(verdicts), most.min(verdicts.len()))),
        Block::Pairs(ordered.iter().take(most).map(line).collect()),
    ]
}

/// A row for each of the first cases.
fn cases(runs: &[Titled<'_>], measures: &[Measure], most: usize) -> Option<Table> {
    let cases = overview::by_case(runs);
    let row = |runs: &&[Titled<'_>]| {
        let values = measures.iter().map(|measure| {
            let of = measure.of(runs.iter().map(Titled::run));
            measure.cell(of.as_ref())
        });
        [Cell::from(runs[0].title_of_all())].into_iter().chain(values).collect()
    };
    let columns = measures.iter().map(|measure| Column::figure(&measure.header, measure.unit));
    (!cases.is_empty()).then(|| Table {
        columns: [Column::text("case")].into_iter().chain(columns).collect(),
        rows: cases.iter().take(most).map(row).collect(),
        notes: more(cases.len(), most),
        ..Table::default()
    })
}

fn more(cases: usize, most: usize) -> Vec<String> {
    (cases > most).then(|| format!("and {} more cases", cases - most)).into_iter().collect()
}

/// The table for two kernels or settings of the command line: a row for each figure of a case, with both values and the
/// difference.
fn side_by_side(material: &Material<'_>, measures: &[Measure], most: usize) -> Option<Table> {
    let study = material.study;
    let compared = study.compared.as_ref()?;
    let [first, second] = &compared.levels[..] else { return None };
    // A case has a row for each figure.
    let most = (2 * most / measures.len().max(1)).max(1);
    let of = |case: &Case, measure: &Measure| {
        let runs = material.runs.iter().map(Titled::run).filter(|run| run.plan.case.id == case.id);
        measure.of(runs.collect::<Vec<&Run>>())
    };
    let rows_of = |case: &Case| {
        let other = variants::with(study, compared, case, second)?;
        let pairs = measures.iter().map(|measure| (measure, of(case, measure), of(other, measure)));
        let rows: Vec<Vec<Cell>> = pairs.filter_map(|(measure, a, b)| pair(measure, a, b)).collect();
        (!rows.is_empty()).then(|| named(&variants::title_without(material.titles, case, first), rows))
    };
    let has_first = |case: &&Case| case.labels().any(|label| label == first);
    let cases: Vec<Vec<Vec<Cell>>> = study.cases.iter().filter(has_first).filter_map(rows_of).collect();
    let figures = [first, second].map(|level| Column::figure(level, ""));
    let columns = [Column::text("case"), Column::text("figure")].into_iter().chain(figures);
    (!cases.is_empty()).then(|| Table {
        columns: columns.chain([Column::figure("difference", "")]).collect(),
        notes: more(cases.len(), most),
        rows: cases.into_iter().take(most).flatten().collect(),
        ..Table::default()
    })
}

/// A figure of both; none where nothing happened in either.
fn pair(
    measure: &Measure,
    a: Option<dyntick_stats::Summary>,
    b: Option<dyntick_stats::Summary>,
) -> Option<Vec<Cell>> {
    if [&a, &b].into_iter().flatten().all(|one| one.mean == 0.0) {
        return None;
    }
    let difference = a.as_ref().zip(b.as_ref()).map(|(a, b)| measure.difference(a.mean, b.mean).into());
    let cells = [measure.cell(a.as_ref()), measure.cell(b.as_ref()), Cell::known(difference)];
    Some([Cell::from(measure.name())].into_iter().chain(cells).collect())
}

/// The rows of a case, of which the first has its name.
fn named(title: &str, rows: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
    let name = |number| if number == 0 { title } else { "" };
    let row = |(number, row): (usize, Vec<Cell>)| [Cell::from(name(number))].into_iter().chain(row).collect();
    rows.into_iter().enumerate().map(row).collect()
}
