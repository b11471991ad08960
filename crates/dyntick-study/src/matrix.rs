// SPDX-License-Identifier: GPL-2.0-only
//! Expanding a case over its matrix.

use super::keys::study::{BUNDLE, LABELLED};
use super::reader::{Section, Source, Value, integer, sections};
use dyntick_model::text::nearest;
use dyntick_stats::Factor;
use std::collections::HashSet;
use toml::de::DeValue;

/// More cases than this are a slip of the pen, and would fill the memory before any of them ran.
pub const MOST_CASES: usize = 1000;

/// A label is a part of an id, and of each variant of its matrix.
const LONGEST_LABEL: usize = 200;

/// The keys of a case that a choice sets, with their values.
type Settings<'v, 't> = Vec<(&'v str, &'v Value<'t>)>;

/// One value of one axis.
struct Choice<'v, 't> {
    label: String,
    settings: Settings<'v, 't>,
}

/// One key of a matrix with its values.
struct Axis<'v, 't> {
    key: &'v str,
    at: usize,
    /// True if the axis comes from the command line.
    is_of_flags: bool,
    choices: Vec<Choice<'v, 't>>,
}

/// One cell of the matrix.
#[derive(Clone)]
pub struct Cell<'v, 't> {
    /// The labels of its choices, joined by `/`.
    pub variant: String,
    /// The settings of its choices.
    pub settings: Settings<'v, 't>,
    /// The settings of those choices that come from the command line.
    pub of_flags: Settings<'v, 't>,
}

/// The axes of a case.
pub struct Matrices<'a, 's, 'v, 't> {
    /// The study's.
    pub shared: Option<Section<'s, 'v, 't>>,
    /// The case's own.
    pub own: Option<Section<'s, 'v, 't>>,
    /// The command line's.
    pub flags: Option<Section<'s, 'v, 't>>,
    /// Returns true if the command line sets this key, so that no axis of the study does.
    pub replaced: &'a dyn Fn(&str) -> bool,
}

/// A case's matrix: its axes, and all their combinations.
pub struct Grid<'v, 't> {
    /// The axes with the labels of their values, in the order in which a cell's variant has them.
    pub axes: Vec<Factor>,
    /// The cells, the values of the last axis next to one another.
    pub cells: Vec<Cell<'v, 't>>,
}

/// The study's matrix and the case's own taken together; one cell without settings if there is neither. Where
/// both have the same axis, the case's replaces the study's, and the command line's replaces both.
pub fn grid<'v, 't>(matrices: Matrices<'_, '_, 'v, 't>, case_keys: &[&str]) -> Grid<'v, 't> {
    let Matrices { shared, own, flags, replaced } = matrices;
    let mut axes: Vec<Axis<'v, 't>> = Vec::new();
    for axis in shared.iter().chain(&own).flat_map(|matrix| axes_of(matrix, case_keys, false)) {
        add(&mut axes, axis);
    }
    let of_flags: Vec<Axis<'v, 't>> =
        flags.iter().flat_map(|matrix| axes_of(matrix, case_keys, true)).collect();
    axes.retain_mut(|axis| {
        let stays = of_flags.iter().any(|other| other.key == axis.key);
        stays || axis.leave_to_flags(replaced)
    });
    of_flags.into_iter().for_each(|axis| add(&mut axes, axis));
    let Some(matrix) = own.or(shared).or(flags) else { return expand(&axes) };
    refuse_ambiguous_labels(matrix.source, &axes);
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.choices.len().max(1)));
    if count.is_none_or(|count| count > MOST_CASES) {
        let message = format!("{} makes more than {MOST_CASES} cases of one: shorten an axis", matrix.name);
        matrix.source.problem(matrix.at, message);
        return expand(&[]);
    }
    expand(&axes)
}

/// Adds an axis, in the place of an earlier one of its key.
fn add<'v, 't>(axes: &mut Vec<Axis<'v, 't>>, axis: Axis<'v, 't>) {
    match axes.iter_mut().find(|earlier| earlier.key == axis.key) {
        Some(earlier) => *earlier = axis,
        None => axes.push(axis),
    }
}

/// An axis without any choice has been refused, and is passed over so that the rest is read.
fn expand<'v, 't>(axes: &[Axis<'v, 't>]) -> Grid<'v, 't> {
    let mut cells = vec![Cell { variant: String::new(), settings: Vec::new(), of_flags: Vec::new() }];
    let axes: Vec<&Axis<'v, 't>> = axes.iter().filter(|axis| !axis.choices.is_empty()).collect();
    for axis in &axes {
        let with = |cell: &Cell<'v, 't>| -> Vec<Cell<'v, 't>> {
            axis.choices.iter().map(|choice| cell.with(choice, axis.is_of_flags)).collect()
        };
        cells = cells.iter().flat_map(with).collect();
    }
    Grid { axes: axes.into_iter().map(Axis::factor).collect(), cells }
}

impl Axis<'_, '_> {
    /// Takes out what the command line sets; whether the axis still says something, or never did.
    fn leave_to_flags(&mut self, replaced: &dyn Fn(&str) -> bool) -> bool {
        let had = self.choices.iter().any(|choice| !choice.settings.is_empty());
        for choice in &mut self.choices {
            choice.settings.retain(|(key, _)| !replaced(key));
        }
        !had || self.choices.iter().any(|choice| !choice.settings.is_empty())
    }

    fn factor(&self) -> Factor {
        Factor {
            name: self.key.to_owned(),
            levels: self.choices.iter().map(|choice| choice.label.clone()).collect(),
        }
    }
}

impl<'v, 't> Cell<'v, 't> {
    fn with(&self, choice: &Choice<'v, 't>, is_of_flags: bool) -> Self {
        let separator = if self.variant.is_empty() { "" } else { "/" };
        let variant = format!("{}{separator}{}", self.variant, choice.label);
        let mut cell = Cell { variant, ..self.clone() };
        let settings = if is_of_flags { &mut cell.of_flags } else { &mut cell.settings };
        settings.extend(&choice.settings);
        cell
    }
}

/// Refuses a label of two axes: claims find their cases by label.
fn refuse_ambiguous_labels(source: &Source<'_>, axes: &[Axis<'_, '_>]) {
    let mut seen = HashSet::new();
    for axis in axes {
        for choice in &axis.choices {
            if !seen.insert(&choice.label) {
                let message = format!(
                    "the label '{}' occurs twice in this matrix: give one of them another, \
                     {{ label = \"…\", value = … }}",
                    choice.label
                );
                source.problem(axis.at, message);
            }
        }
    }
}

/// The axes in the order of the file.
fn axes_of<'v, 't>(matrix: &Section<'_, 'v, 't>, case_keys: &[&str], is_of_flags: bool) -> Vec<Axis<'v, 't>> {
    let mut entries: Vec<_> = matrix.table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
        .into_iter()
        .filter_map(|(key, values)| {
            let (at, key) = (key.span().start, key.get_ref().as_ref());
            let choices = if case_keys.contains(&key) {
                choices_of_key(matrix.source, key, values)
            } else if is_list_of_tables(values) {
                bundles(matrix.source, key, values)
            } else {
                refuse_axis(matrix, key, at, case_keys);
                return None;
            };
            if values.get_ref().as_array().is_some_and(|list| list.is_empty()) {
                matrix.source.problem(values.span().start, format!("the matrix gives '{key}' no value"));
            }
            Some(Axis { key, at, is_of_flags, choices })
        })
        .collect()
}

fn refuse_axis(matrix: &Section<'_, '_, '_>, key: &str, at: usize, case_keys: &[&str]) {
    let hint = match nearest(key, case_keys) {
        Some(right) => format!("did you mean '{right}'?"),
        None => "an axis of another name has tables: { label = \"…\", and keys of a case }".to_owned(),
    };
    matrix.source.problem(at, format!("'{key}' in {} is not a key of a case; {hint}", matrix.name));
}

fn is_list_of_tables(values: &Value<'_>) -> bool {
    let list = values.get_ref().as_array();
    list.is_some_and(|list| !list.is_empty() && list.iter().all(|item| item.get_ref().is_table()))
}

/// An axis named after a key: values that are their own labels, or `{ label = "…", value = … }`.
fn choices_of_key<'v, 't>(source: &Source<'_>, key: &'v str, values: &'v Value<'t>) -> Vec<Choice<'v, 't>> {
    let items = source.list(key, values).unwrap_or_default();
    items.into_iter().filter_map(|item| choice_of_key(source, key, item)).collect()
}

fn choice_of_key<'v, 't>(source: &Source<'_>, key: &'v str, item: &'v Value<'t>) -> Option<Choice<'v, 't>> {
    if let Some(text) = plain_label(item) {
        return Some(Choice { label: label(source, item, &text), settings: vec![(key, item)] });
    }
    let Some(table) = item.get_ref().as_table() else {
        let message = format!(
            "a value of '{key}' in a matrix that is neither a string nor a number needs a label: {{ label = \"…\", value = … }}"
        );
        source.problem(item.span().start, message);
        return None;
    };
    let section = Section { source, name: "a matrix value", at: item.span().start, table };
    section.only(&LABELLED);
    let text = section.required_text("label")?;
    Some(Choice { label: label(source, item, &text), settings: vec![(key, section.required("value")?)] })
}

/// An axis of its own name: each value sets several keys at once.
fn bundles<'v, 't>(source: &Source<'_>, key: &str, values: &'v Value<'t>) -> Vec<Choice<'v, 't>> {
    let sections = sections(source, "a matrix value", key, values).into_iter();
    sections
        .filter_map(|section| {
            section.only(&BUNDLE);
            let text = section.required_text("label")?;
            let set = section.table.iter().map(|(key, value)| (key.get_ref().as_ref(), value));
            Some(Choice {
                label: label(source, section.get("label")?, &text),
                settings: set.filter(|(key, _)| *key != "label").collect(),
            })
        })
        .collect()
}

/// A value as its own label. Of a path the file's name suffices: labels are parts of an id.
fn plain_label(item: &Value<'_>) -> Option<String> {
    match item.get_ref() {
        DeValue::String(text) => Some(text.rsplit('/').next().unwrap_or_default().to_owned()),
        DeValue::Integer(_) => integer(item).map(|number| number.to_string()),
        _ => None,
    }
}

fn label(source: &Source<'_>, item: &Value<'_>, text: &str) -> String {
    if text.is_empty() || text == "*" || text.contains('/') {
        let message = format!(
            "'{text}' cannot be a label, which is a part of an id: write {{ label = \"…\", value = … }}"
        );
        source.problem(item.span().start, message);
    }
    if text.len() > LONGEST_LABEL {
        let message =
            format!("a label has at most {LONGEST_LABEL} bytes: write {{ label = \"…\", value = … }}");
        source.problem(item.span().start, message);
        return String::new();
    }
    text.to_owned()
}
