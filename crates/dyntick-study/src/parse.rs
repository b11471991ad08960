// SPDX-License-Identifier: GPL-2.0-only
//! The parser of study files: from text to a [`Study`].

use super::case::CaseReader;
use super::given::{self, Given};
use super::keys::{claims as claims_keys, study as keys};
use super::matrix::{MOST_CASES, Matrices, grid};
use super::reader::{self, Problems, Section};
use super::{
    Case, Comparison, Published, PublishedFigure, Size, Study, claims, effects, kept, kernels, limits,
    positions,
};
use dyntick_model::Recipe;
use dyntick_stats::Factor;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use toml::de::DeTable;

const FULL_SIZE: &str = "full-size";

/// Reads a study; `path` is for messages and for its name.
pub fn study(path: &Path, text: &str, size: Size) -> Result<Study, Problems> {
    reader::read(path, text, "a study", |root| read(root, text, path, size))
}

/// Reads a study with what the command line sets in its cases. The second part is how many of its claims speak of
/// cases that are there no more.
pub fn given(path: &Path, text: &str, size: Size, given: &Given) -> Result<(Study, usize), Problems> {
    // Claims are checked against the cases that the file itself has.
    let study = study(path, text, size)?;
    if given.is_empty() {
        return Ok((study, 0));
    }
    let (lines, flags): (Vec<String>, Vec<Option<&str>>) = given.table().into_iter().unzip();
    let flags = flags.into_iter().map(|flag| flag.map(str::to_owned)).collect();
    let text = format!("{text}\n{}", lines.join("\n"));
    let (cases, matrices) = reader::read_lines(path, &text, flags, "a study", |root| {
        let kernels = kernels::read(root, path);
        cases(root, &kernels, size, given)
    })?;
    let (study, left_out) = kept::with_cases(study, cases, &matrices);
    Ok((Study { compared: given.compared(), kernel_names: given.kernel_names(), ..study }, left_out))
}

/// The file's name without its ending. It becomes a folder's, so `...toml` is not one above.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match stem.trim_start_matches('.') {
        "" => "study".to_owned(),
        name => name.to_owned(),
    }
}

fn read(root: Section<'_, '_, '_>, text: &str, path: &Path, size: Size) -> Study {
    root.only(&keys::STUDY);
    let kernels = kernels::read(root, path);
    let (cases, matrices) = cases(root, &kernels, size, &Given::default());
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
        effects: effects::read(root, &cases, &matrices),
        kernels,
        cases,
        compared: None,
        kernel_names: BTreeMap::new(),
        settings: positions::settings(text, root.table),
    }
}

fn comparison(table: Section<'_, '_, '_>, cases: &[Case]) -> Comparison {
    table.only(&claims_keys::COMPARE);
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
    table.only(&claims_keys::PUBLISHED);
    let figures = table.sections("figures", "[[published.figures]]");
    let published = Published {
        source: table.required_text("source").unwrap_or_default(),
        figures: figures.iter().map(|figure| published_figure(*figure, cases)).collect(),
    };
    for (table, figure) in figures.iter().zip(&published.figures) {
        // One that names no case was refused as such.
        let base = figure.ratio_to.as_ref().filter(|base| cases.iter().any(|case| case.answers_to(base)));
        if let (Some(base), None) = (base, published.base_of(figure)) {
            let message = format!("ratio-to: no figure '{}' is published for '{base}'", figure.figure);
            table.source.problem(table.get("ratio-to").map_or(table.at, |value| value.span().start), message);
        }
    }
    published
}

fn published_figure(table: Section<'_, '_, '_>, cases: &[Case]) -> PublishedFigure {
    table.only(&claims_keys::PUBLISHED_FIGURE);
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
        our_unit: table.text("our-unit"),
        ratio_to: table.text("ratio-to").map(|_| claims::case_reference(table, "ratio-to", cases)),
        note: table.text("note").unwrap_or_default(),
    }
}

/// The cases, and the axes of each `[[case]]`'s matrix with its name.
fn cases(
    root: Section<'_, '_, '_>,
    recipes: &BTreeMap<String, Recipe>,
    size: Size,
    given: &Given,
) -> (Vec<Case>, Vec<(String, Vec<Factor>)>) {
    let no_table = DeTable::new();
    let defaults = root.section("defaults", "[defaults]").map(|section| section.only(&keys::CASE));
    let defaults = defaults.map_or(&no_table, |section| section.table);
    let shared = root.section("matrix", "[matrix]");
    let machine = root.section("machine", "[machine]").map(|section| section.only(&keys::MACHINE));
    if let Some(section) = machine {
        section.required("profile");
    }
    let set = root.section(given::TABLE, "the command line").map(|section| section.only(&keys::FLAGS));
    let sections = root.sections("case", "[[case]]");
    if sections.is_empty() {
        root.source.problem(0, "a study has at least one [[case]]");
    }
    let case_keys = keys::CASE.names();
    let mut cases: Vec<Case> = Vec::new();
    let mut matrices = Vec::new();
    let mut places = HashMap::new();
    for section in sections {
        section.only(&keys::OWN_CASE);
        let own = section.section("matrix", "[case.matrix]");
        let full = section.section(FULL_SIZE, "[case.full-size]").map(|table| table.only(&keys::CASE).table);
        let flags = set.and_then(|set| set.section("matrix", "the command line"));
        let grid = grid(Matrices { shared, own, flags, replaced: &|key| given.replaces(key) }, &case_keys);
        if !fits(root.source.size(), cases.len() + grid.cells.len()) {
            let message =
                format!("the study has more than {MOST_CASES} cases, or many of many words: shorten it");
            root.source.problem(section.at, message);
            break;
        }
        let name = section.get("name").and_then(|name| name.get_ref().as_str());
        matrices.extend(name.map(|name| (name.to_owned(), grid.axes)));
        for cell in grid.cells {
            let read = |full_size| {
                let machine = machine.map(|section| section.table);
                let set = set.map(|section| section.table);
                let reader = CaseReader { section, cell: &cell, defaults, full_size, set, machine, recipes };
                let case = reader.case();
                if given.concerns(&case) {
                    limits::refuse_nonsense(&reader, &case);
                    if !given.allows_any_parameter() {
                        limits::refuse_misspelt(&reader, &case);
                    }
                }
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
    (cases, matrices)
}

/// Returns true if a study of this size may have this number of cases: each may hold all the text of [defaults].
fn fits(bytes: usize, cases: usize) -> bool {
    /// A study of 30 KB with as many cases as one may have.
    const MOST_BYTES: usize = 32 << 20;
    cases <= MOST_CASES && bytes.saturating_mul(cases) <= MOST_BYTES
}

/// Two cases may not share an id, nor the folder name that is made of it.
fn refuse_duplicate(section: &Section<'_, '_, '_>, case: &Case, places: &mut HashMap<String, String>) {
    if let Some(other) = places.insert(case.slug(), case.id.clone()) {
        let message = if other == case.id {
            format!("two cases are called '{}': give one another name or label", case.id)
        } else {
            format!(
                "'{other}' and '{}' would share the folder '{}': give one another name",
                case.id,
                case.slug()
            )
        };
        section.source.problem(section.get("name").map_or(section.at, |name| name.span().start), message);
    }
}
