// SPDX-License-Identifier: GPL-2.0-only
//! The parser of study files, from text to a [`Study`]; the positions of settings in the text, for errors that are
//! known only once a guest has booted; and the claims that still hold after the command line has changed the cases.

use super::case::CaseReader;
use super::claims::{self, Check, Claim, references};
use super::given::{self, Given};
use super::keys::{claims as claims_keys, study as keys};
use super::matrix::{MOST_CASES, Matrices, grid};
use super::reader::{self, Problems, Section};
use super::{Case, Comparison, Effects, Published, PublishedFigure, Size, Study, effects, limits, parts};
use dyntick_model::Recipe;
use dyntick_stats::Factor;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

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
        let kernels = parts::kernels(root, path);
        cases(root, &kernels, size, given)
    })?;
    let (study, left_out) = with_cases(study, cases, &matrices);
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
    let kernels = parts::kernels(root, path);
    let (cases, matrices) = cases(root, &kernels, size, &Given::default());
    let claims = root.sections("claim", "[[claim]]");
    let claims: Vec<Claim> = claims.into_iter().map(|table| claims::read(table, &cases)).collect();
    let comparisons = root.sections("compare", "[[compare]]");
    Study {
        name: name_of(path),
        title: root.required_text("title").unwrap_or_default(),
        question: root.required_text("question").unwrap_or_default(),
        description: root.text("description").unwrap_or_default().trim().to_owned(),
        published: root.section("published", "[published]").map(|table| published(table, &cases)),
        judged: judged(&claims),
        claims,
        comparisons: comparisons.into_iter().map(|table| comparison(table, &cases)).collect(),
        effects: effects::read(root, &cases, &matrices),
        kernels,
        cases,
        compared: None,
        kernel_names: BTreeMap::new(),
        settings: settings_at(text, root.table),
    }
}

/// The figures that claims judge, each once.
fn judged(claims: &[Claim]) -> Vec<String> {
    let mut figures: Vec<String> = Vec::new();
    for check in claims.iter().flat_map(|claim| &claim.checks) {
        if !figures.contains(&check.figure) {
            figures.push(check.figure.clone());
        }
    }
    figures
}

fn comparison(table: Section<'_, '_, '_>, cases: &[Case]) -> Comparison {
    table.only(&claims_keys::COMPARE);
    let (case, with) =
        (claims::case_reference(table, "case", cases), claims::case_reference(table, "with", cases));
    refuse_unprofiled(table, &[&case, &with], cases);
    Comparison {
        title: table.text("title").unwrap_or_else(|| format!("{case} against {with}")),
        spans: table.get("spans").and_then(|value| table.source.texts("spans", value)).unwrap_or_default(),
        case,
        with,
    }
}

/// Refuses spans of cases that have no profile.
fn refuse_unprofiled(table: Section<'_, '_, '_>, references: &[&String], cases: &[Case]) {
    let Some(spans) = table.get("spans") else { return };
    let meant = |case: &&Case| references.iter().any(|reference| case.answers_to(reference));
    if let Some(case) = cases.iter().filter(meant).find(|case| !case.profile) {
        let message = format!("spans: the case '{}' has no profile: set profile = true", case.id);
        table.source.problem(spans.span().start, message);
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

/// A setting with its position in the text of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingAt {
    /// The file of the guest's kernel that it writes.
    pub file: String,
    /// The name, as in the study.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

/// All settings (`sysctl`, `write`) in the text of a study, whose root table this is, in their order.
pub fn settings_at(text: &str, root: &DeTable<'_>) -> Vec<SettingAt> {
    let mut found = Vec::new();
    search_table(text, root, &mut found);
    found.sort_by_key(|setting| (setting.line, setting.column));
    found
}

fn search_table(text: &str, table: &DeTable<'_>, found: &mut Vec<SettingAt>) {
    for (key, value) in table {
        if let Some(settings) = value.get_ref().as_table() {
            for name in settings.keys() {
                let file = file_of(key.get_ref(), name.get_ref());
                found.extend(file.map(|file| setting_at(text, file, name.get_ref(), name.span().start)));
            }
        }
        search(text, value, found);
    }
}

fn search(text: &str, value: &Spanned<DeValue<'_>>, found: &mut Vec<SettingAt>) {
    match value.get_ref() {
        DeValue::Table(table) => search_table(text, table, found),
        DeValue::Array(items) => {
            for item in items {
                search(text, item, found);
            }
        }
        _ => {}
    }
}

/// The file that a setting writes, by the table that it is in; `None` if it is no setting.
fn file_of(table: &str, name: &str) -> Option<String> {
    match table {
        "sysctl" => Some(format!("/proc/sys/{}", name.replace('.', "/"))),
        "write" => Some(name.to_owned()),
        _ => None,
    }
}

fn setting_at(text: &str, file: String, name: &str, at: usize) -> SettingAt {
    // A quoted name begins after its quote.
    let quote = usize::from(text[at..].starts_with(['"', '\'']));
    let before = &text[..at + quote];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    SettingAt { file, name: name.to_owned(), line, column }
}

/// The study with these cases in the place of its own, and how many of its claims speak of others.
pub fn with_cases(study: Study, cases: Vec<Case>, matrices: &[(String, Vec<Factor>)]) -> (Study, usize) {
    let claims = study.claims.len();
    let judged: Vec<Claim> = study.claims.into_iter().filter_map(|claim| of_claim(claim, &cases)).collect();
    let left_out = claims - judged.len();
    let has = |reference: &str| cases.iter().any(|case| case.answers_to(reference));
    let compares = |comparison: &Comparison| has(&comparison.case) && has(&comparison.with);
    let study = Study {
        published: study.published.map(|published| of_published(published, &has)),
        claims: judged,
        comparisons: study.comparisons.into_iter().filter(compares).collect(),
        effects: study.effects.into_iter().filter_map(|effects| of_effects(effects, matrices)).collect(),
        cases,
        ..study
    };
    (study, left_out)
}

/// The claim, where all its checks find their cases; its evidence, so far as it does.
fn of_claim(mut claim: Claim, cases: &[Case]) -> Option<Claim> {
    let spoken_of: Vec<&Case> = cases.iter().filter(|case| claim.speaks_of(case)).collect();
    let is_found = |check: &Check| finds(check, &spoken_of, cases);
    let all = claim.checks.iter().all(is_found);
    claim.evidence.retain(is_found);
    (all && (claim.cannot_tell.is_some() || !claim.checks.is_empty())).then_some(claim)
}

/// Returns true if a check means a case, and exactly one other case to set the figure against.
fn finds(check: &Check, spoken_of: &[&Case], cases: &[Case]) -> bool {
    let mut meant = spoken_of.iter().filter(|case| case.answers_to(&check.case)).peekable();
    let beside = |case: &&&Case| match &check.against {
        Some(against) => references(case, &against.case, cases).len() == 1,
        None => true,
    };
    meant.peek().is_some() && meant.all(|case| beside(&case))
}

fn of_published(mut published: Published, has: &dyn Fn(&str) -> bool) -> Published {
    published
        .figures
        .retain(|figure| has(&figure.case) && figure.ratio_to.as_ref().is_none_or(|base| has(base)));
    published
}

/// Effects of the axes that the matrix has now, where one of them still has two values.
fn of_effects(effects: Effects, matrices: &[(String, Vec<Factor>)]) -> Option<Effects> {
    let (_, axes) = matrices.iter().find(|(name, _)| *name == effects.case)?;
    let varies = axes.iter().any(|axis| axis.levels.len() > 1);
    varies.then(|| Effects { axes: axes.clone(), ..effects })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, file: &str) -> Vec<(usize, usize)> {
        let (root, _) = DeTable::parse_recoverable(text);
        let all = settings_at(text, root.get_ref());
        let of_file = all.iter().filter(|setting| setting.file == file);
        of_file.map(|setting| (setting.line, setting.column)).collect()
    }

    #[test]
    fn setting_is_found_by_its_file_and_not_by_its_name() {
        let text = "title = '\"vm.swappiness\"'\n[defaults]\nsysctl = { \"vm.stat_interval\" = 1, \"vm.swappiness\" = 2 }\n\
                    [[case]]\nsysctl = { 'vm.swappiness' = 3 }\n[case.write]\n'/sys/x' = '1'\n";
        assert_eq!(at(text, "/proc/sys/vm/swappiness"), [(3, 37), (5, 13)]);
        assert_eq!(at(text, "/sys/x"), [(7, 2)]);
        assert_eq!(at(text, "/proc/sys/vm"), []);
        assert_eq!(at("", "/sys/x"), []);
    }
}
