// SPDX-License-Identifier: GPL-2.0-only
//! Expanding a case over its matrix.

use super::reader::{Source, Value};
use toml::de::DeTable;

/// One value of one axis.
#[derive(Clone, Copy)]
struct Choice<'v, 't> {
    key: &'v str,
    label: &'v str,
    value: &'v Value<'t>,
}

/// One cell of the matrix.
pub struct Cell<'v, 't> {
    /// The labels of its choices, joined by `/`.
    pub variant: String,
    /// The key of each axis with the value that it has here.
    pub values: Vec<(&'v str, &'v Value<'t>)>,
}

/// All cells of these matrices taken together; one cell without values if there is none.
pub fn cells<'v, 't>(source: &Source<'_>, matrices: &[&'v DeTable<'t>]) -> Vec<Cell<'v, 't>> {
    let mut cells = vec![Cell { variant: String::new(), values: Vec::new() }];
    for (key, values) in matrices.iter().flat_map(|matrix| matrix.iter()) {
        let choices = choices(source, key.get_ref(), values);
        cells = cells.iter().flat_map(|cell| choices.iter().map(|choice| cell.with(*choice))).collect();
    }
    cells
}

impl<'v, 't> Cell<'v, 't> {
    fn with(&self, choice: Choice<'v, 't>) -> Self {
        let separator = if self.variant.is_empty() { "" } else { "/" };
        let values = self.values.iter().copied().chain([(choice.key, choice.value)]).collect();
        Cell { variant: format!("{}{separator}{}", self.variant, choice.label), values }
    }
}

/// The values of one axis: texts that are their own labels, or `{ label = "…", value = … }`.
fn choices<'v, 't>(source: &Source<'_>, key: &'v str, values: &'v Value<'t>) -> Vec<Choice<'v, 't>> {
    let items = source.list(key, values).unwrap_or_default();
    if items.is_empty() {
        source.problem(values.span().start, format!("the matrix gives '{key}' no value"));
    }
    items.into_iter().filter_map(|item| choice(source, key, item)).collect()
}

fn choice<'v, 't>(source: &Source<'_>, key: &'v str, item: &'v Value<'t>) -> Option<Choice<'v, 't>> {
    if let Some(label) = item.get_ref().as_str() {
        return Some(Choice { key, label, value: item });
    }
    let labelled = item.get_ref().as_table().and_then(|table| {
        source.only(table, "a matrix value", &["label", "value"]);
        Some(Choice { key, label: table.get("label")?.get_ref().as_str()?, value: table.get("value")? })
    });
    if labelled.is_none() {
        let message = format!("a value of '{key}' in a matrix is a text, or {{ label = \"…\", value = … }}");
        source.problem(item.span().start, message);
    }
    labelled
}
