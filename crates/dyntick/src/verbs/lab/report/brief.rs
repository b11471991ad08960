// SPDX-License-Identifier: GPL-2.0-only
//! The short form of a report: the answer, the claims, one table, and what is missing.

use super::answer;
use super::material::Material;
use super::measures::{Measure, measures};
use super::titles::Titled;
use super::{effects, kernels, method, missing, overview, setups, sides};
use dyntick_model::text::shortened;
use dyntick_report::{Block, Cell, Column, Document, Ruling, Table, Verdict, numbers};

/// The longest question that is repeated, characters.
const LONGEST_QUESTION: usize = 300;

/// The number of kernels that are described: two are what a mail is often about.
const MOST_KERNELS: usize = 4;

/// The page that a short report is for.
pub struct Page<'a> {
    /// The largest number of lines.
    pub lines: usize,
    /// The number of columns.
    pub width: usize,
    /// Returns the number of lines of a document.
    pub height: &'a dyn Fn(&Document) -> usize,
    /// True if it is read where the study is not at hand, so that settings and the method are part of it.
    pub is_mail: bool,
}

/// The number of lines for each part.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Room {
    /// Rows of the table.
    rows: usize,
    /// Different values of a setting; without any the settings are left out.
    values: usize,
    /// Claims.
    claims: usize,
    /// True if a mail may split a table that is too wide, and not leave figures out.
    split: bool,
}

/// The short form of a report: as many cases, settings and claims as fit on its page.
pub fn document(long: &Document, material: &Material<'_>, page: &Page<'_>) -> Document {
    let measures = measures(material.study, &material.runs.iter().map(Titled::run).collect::<Vec<_>>());
    let lead: Vec<String> = material.of_others.iter().cloned().collect();
    let with = |room: Room| {
        let blocks = blocks(material, &measures, room, page);
        let origin = long.origin.clone().filter(|_| page.is_mail);
        Document { question: String::new(), lead: lead.clone(), blocks, origin, ..long.clone() }
    };
    let fits = |document: &Document| (page.height)(document) <= page.lines;
    let mut all = rooms().map(with);
    all.find(fits).unwrap_or_else(|| with(SMALLEST))
}

const SMALLEST: Room = Room { rows: 2, values: 0, claims: 2, split: false };

/// The sizes from the largest to the smallest: first rows are left out, then settings, then claims, and at last more
/// rows.
fn rooms() -> impl Iterator<Item = Room> {
    let room = |rows, values, claims, split| Room { rows, values, claims, split };
    let rows = (6..=16).rev().map(move |rows| room(rows, 4, usize::MAX, true));
    let few_rows = (4..=5).rev().map(move |rows| room(rows, 2, usize::MAX, true));
    let values = (0..=3).rev().map(move |values| room(6, values, usize::MAX, false));
    let claims = (3..=10).rev().map(move |claims| room(5, 0, claims, false));
    rows.chain(few_rows).chain(values).chain(claims).chain([room(3, 0, 3, false), SMALLEST])
}

fn blocks(material: &Material<'_>, measures: &[Measure], room: Room, page: &Page<'_>) -> Vec<Block> {
    let mut pairs = vec![
        ("asked".to_owned(), shortened(&material.study.question, LONGEST_QUESTION)),
        ("answer".to_owned(), answer::answer(material, measures)),
    ];
    if !material.runs.is_empty() {
        pairs.push(("from".to_owned(), answer::from(material)));
    }
    if !page.is_mail {
        pairs.extend(kernels::own_pairs(material.titles, material.runs).into_iter().take(MOST_KERNELS));
        pairs.extend(method::fallbacks(material.runs));
    }
    let mut blocks = vec![Block::Pairs(pairs)];
    blocks.extend(claims(material, room.claims));
    let table = effects::table(material.effects, page.width)
        .or_else(|| sides::table(material, measures, room.rows))
        .or_else(|| cases(material.runs, measures, room, page));
    blocks.extend(table.map(Block::Table));
    blocks.extend(missing::line(material.titles, material.results, material.not_run).map(Block::Paragraph));
    if page.is_mail && !material.runs.is_empty() {
        let kernels = kernels::pairs(material.titles, material.runs).into_iter().take(MOST_KERNELS);
        let setups =
            setups::pairs(material.runs, room.values).into_iter().chain(method::fallbacks(material.runs));
        blocks.push(Block::Pairs(kernels.chain(setups).chain([method::executor(material.runs)]).collect()));
    }
    blocks
}

/// The claims that were judged: those whose verdict differs between the two sides first, then those that came out
/// otherwise. A single one is part of the answer.
fn claims(material: &Material<'_>, most: usize) -> Option<Block> {
    let sides = material.study.compared.as_ref();
    let is_shown = |verdict: &&Verdict| verdict.only_ruling() != Some(Ruling::NotRun);
    let mut ordered: Vec<&Verdict> = material.verdicts.iter().filter(is_shown).collect();
    if material.verdicts.len() < 2 || ordered.is_empty() {
        return None;
    }
    let differs = |verdict: &Verdict| sides.is_some_and(|sides| answer::differs(verdict, sides));
    ordered.sort_by_key(|verdict| (!differs(verdict), verdict.only_ruling() == Some(Ruling::Reproduced)));
    let line = |verdict: &&Verdict| {
        let sign = verdict.only_ruling().map_or("/", Ruling::sign);
        (sign.to_owned(), verdict.in_short())
    };
    let mut lines: Vec<(String, String)> = ordered.iter().take(most).map(line).collect();
    if let Some(others) = ordered.len().checked_sub(most).filter(|others| *others > 0) {
        lines.push(("…".to_owned(), format!("and {others} more")));
    }
    Some(Block::Pairs(lines))
}

/// A row for each of the first cases, with as many figures as fit next to each other. A mail may split a wide table.
fn cases(runs: &[Titled<'_>], measures: &[Measure], room: Room, page: &Page<'_>) -> Option<Table> {
    let with = |figures: usize| of_cases(runs, measures, figures, room.rows);
    let fits = |table: &Table| page.is_mail && room.split || dyntick_report::is_beside(table, page.width);
    let fitting = (1..=measures.len()).rev().filter_map(with).find(fits);
    fitting.or_else(|| with(measures.len().min(1)))
}

fn of_cases(runs: &[Titled<'_>], measures: &[Measure], figures: usize, most: usize) -> Option<Table> {
    let (cases, left_out) = (overview::by_case(runs), measures.len() - figures);
    let measures = &measures[..figures];
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
        notes: left_out_in_words(cases.len().saturating_sub(most), left_out).into_iter().collect(),
        ..Table::default()
    })
}

/// `and 2 more cases, 1 more figure`
fn left_out_in_words(cases: usize, figures: usize) -> Option<String> {
    let counted =
        [(cases, "more case"), (figures, "more figure")].into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counted.map(|(count, what)| numbers::counted(count as u64, what)).collect();
    (!words.is_empty()).then(|| format!("and {}", words.join(", ")))
}
