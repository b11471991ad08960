// SPDX-License-Identifier: GPL-2.0-only
//! From the text of a study file to a [`Study`].

use super::case::{CASE_KEYS, CaseReader};
use super::matrix::{MOST_CASES, cells};
use super::reader::{self, Problems, Section};
use super::{Case, Comparison, Published, PublishedFigure, Size, Study, claims, kernels, limits};
use crate::build::Recipe;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use toml::de::DeTable;

const STUDY_KEYS: [&str; 11] = [
    "title",
    "question",
    "description",
    "published",
    "kernels",
    "machine",
    "defaults",
    "matrix",
    "case",
    "claim",
    "compare",
];
const MACHINE_KEYS: [&str; 3] = ["profile", "exit", "pre-wake"];
const OWN_CASE_KEYS: [&str; 4] = ["name", "title", "matrix", FULL_SIZE];
const FULL_SIZE: &str = "full-size";

/// Reads a study; `path` is for messages and for its name.
pub fn study(path: &Path, text: &str, size: Size) -> Result<Study, Problems> {
    reader::read(path, text, "a study", |root| read(root, path, size))
}

/// The file's name without its ending. It becomes a folder's, so `...toml` is not one above.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match stem.trim_start_matches('.') {
        "" => "study".to_owned(),
        name => name.to_owned(),
    }
}

fn read(root: Section<'_, '_, '_>, path: &Path, size: Size) -> Study {
    root.only(&STUDY_KEYS);
    let kernels = kernels::read(root, path);
    let cases = cases(root, &kernels, size);
    let claims = root.sections("claim", "[[claim]]");
    let comparisons = root.sections("compare", "[[compare]]");
    Study {
        name: name_of(path),
        title: root.required_text("title").unwrap_or_default(),
        question: root.required_text("question").unwrap_or_default(),
        description: root.text("description").unwrap_or_default().trim().to_owned(),
        published: root.section("published", "[published]").map(|table| published(table, &cases)),
        claims: claims.into_iter().map(|table| claims::read(table, &cases)).collect(),
        comparisons: comparisons.into_iter().map(|table| comparison(table, &cases)).collect(),
        kernels,
        cases,
    }
}

fn comparison(table: Section<'_, '_, '_>, cases: &[Case]) -> Comparison {
    table.only(&["title", "case", "with", "spans"]);
    let (case, with) =
        (claims::case_reference(table, "case", cases), claims::case_reference(table, "with", cases));
    Comparison {
        title: table.text("title").unwrap_or_else(|| format!("{case} against {with}")),
        spans: table.get("spans").and_then(|value| table.source.texts("spans", value)).unwrap_or_default(),
        case,
        with,
    }
}

fn published(table: Section<'_, '_, '_>, cases: &[Case]) -> Published {
    table.only(&["source", "figures"]);
    let figures = table.sections("figures", "[[published.figures]]");
    Published {
        source: table.required_text("source").unwrap_or_default(),
        figures: figures.into_iter().map(|figure| published_figure(figure, cases)).collect(),
    }
}

fn published_figure(table: Section<'_, '_, '_>, cases: &[Case]) -> PublishedFigure {
    table.only(&["label", "value", "unit", "case", "figure", "note"]);
    let text = |key: &str| table.required_text(key).unwrap_or_default();
    PublishedFigure {
        label: text("label"),
        value: table
            .required("value")
            .and_then(|value| table.source.text_or_number("value", value))
            .unwrap_or_default(),
        unit: text("unit"),
        case: claims::case_reference(table, "case", cases),
        figure: claims::figure_reference(table, cases),
        note: table.text("note").unwrap_or_default(),
    }
}

fn cases(root: Section<'_, '_, '_>, recipes: &BTreeMap<String, Recipe>, size: Size) -> Vec<Case> {
    let no_table = DeTable::new();
    let defaults = root.section("defaults", "[defaults]").map(|section| section.only(&CASE_KEYS));
    let defaults = defaults.map_or(&no_table, |section| section.table);
    let shared = root.section("matrix", "[matrix]");
    let machine = root.section("machine", "[machine]").map(|section| section.only(&MACHINE_KEYS));
    if let Some(section) = machine {
        section.required("profile");
    }
    let sections = root.sections("case", "[[case]]");
    if sections.is_empty() {
        root.source.problem(0, "a study has at least one [[case]]");
    }
    let known = [&OWN_CASE_KEYS[..], &CASE_KEYS].concat();
    let mut cases: Vec<Case> = Vec::new();
    let mut places = HashMap::new();
    for section in sections {
        section.only(&known);
        let own = section.section("matrix", "[case.matrix]");
        let full = section.section(FULL_SIZE, "[case.full-size]").map(|table| table.only(&CASE_KEYS).table);
        let cells = cells(shared, own, &CASE_KEYS);
        if !fits(root.source.size(), cases.len() + cells.len()) {
            let message =
                format!("the study has more than {MOST_CASES} cases, or many of many words: shorten it");
            root.source.problem(section.at, message);
            break;
        }
        for cell in cells {
            let read = |full_size| {
                let machine = machine.map(|section| section.table);
                let reader = CaseReader { section, cell: &cell, defaults, full_size, machine, recipes };
                let case = reader.case();
                limits::refuse_nonsense(&reader, &case);
                case
            };
            // Both sizes are checked, whichever is asked for.
            let (scaled, full) = (read(None), full.map(|table| read(Some(table))));
            refuse_duplicate(&section, &scaled, &mut places);
            cases.push(match size {
                Size::Scaled => scaled,
                Size::Full => full.unwrap_or(scaled),
            });
        }
    }
    cases
}

/// Whether so many cases of a study of so many bytes may be read: each may hold all the words of [defaults].
fn fits(bytes: usize, cases: usize) -> bool {
    /// A study of 30 KB with as many cases as one may have.
    const MOST_BYTES: usize = 32 << 20;
    cases <= MOST_CASES && bytes.saturating_mul(cases) <= MOST_BYTES
}

/// Two cases may not share an id, nor the folder name that is made of it.
fn refuse_duplicate(section: &Section<'_, '_, '_>, case: &Case, places: &mut HashMap<String, String>) {
    if let Some(other) = places.insert(case.slug(), case.id.clone()) {
        let message = match other == case.id {
            true => format!("two cases are called '{}': give one another name or label", case.id),
            false => format!(
                "'{other}' and '{}' would share the folder '{}': give one another name",
                case.id,
                case.slug()
            ),
        };
        section.source.problem(section.get("name").map_or(section.at, |name| name.span().start), message);
    }
}
