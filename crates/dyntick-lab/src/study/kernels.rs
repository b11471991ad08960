// SPDX-License-Identifier: GPL-2.0-only
//! The `[kernels.NAME]` tables: kernels that a study has built to order.

use super::reader::{Section, Value};
use crate::build::{self, Recipe};
use std::collections::BTreeMap;
use std::path::Path;

const KEYS: [&str; 3] = ["source", "config", "patches"];

/// Reads the tables; paths in them are meant from the folder of the study.
pub fn read(root: Section<'_, '_, '_>, study: &Path) -> BTreeMap<String, Recipe> {
    let folder = study.parent().unwrap_or(Path::new(""));
    let Some(tables) = root.section("kernels", "[kernels]") else { return BTreeMap::new() };
    let mut recipes = BTreeMap::new();
    for (name, value) in tables.table {
        let at = name.span().start;
        let name = name.get_ref().as_ref();
        refuse_unfit_name(root, name, at);
        let table = Section::of(root.source, "[kernels.NAME]", name, value);
        recipes.insert(name.to_owned(), table.map(recipe).unwrap_or_default().relative_to(folder));
    }
    recipes
}

fn recipe(table: Section<'_, '_, '_>) -> Recipe {
    table.only(&KEYS);
    let list = |key: &str, value| texts(table, key, value);
    let recipe = Recipe {
        source: table.required_text("source").unwrap_or_default(),
        config: table.required("config").map(|value| list("config", value)).unwrap_or_default(),
        patches: table.get("patches").map(|value| list("patches", value)).unwrap_or_default(),
    };
    let note = |key: &str, message: String| {
        table.source.problem(table.get(key).map_or(table.at, |value| value.span().start), message);
    };
    if let (Some(_), Err(error)) = (table.get("source"), build::check_source(&recipe.source)) {
        note("source", format!("source: {error}"));
    }
    recipe.config.iter().filter_map(|name| build::lacking_fragment(name)).for_each(|lack| {
        note("config", format!("config: {lack}"));
    });
    recipe.patches.iter().filter_map(|name| build::lacking_patch(name)).for_each(|lack| {
        note("patches", format!("patches: {lack}"));
    });
    recipe
}

/// One text, or a list of them.
fn texts(table: Section<'_, '_, '_>, key: &str, value: &Value<'_>) -> Vec<String> {
    match value.get_ref().as_str() {
        Some(text) => vec![text.to_owned()],
        None => table.source.texts(key, value).unwrap_or_default(),
    }
}

/// A name must not look like anything else that a case's `kernel` can be.
fn refuse_unfit_name(root: Section<'_, '_, '_>, name: &str, at: usize) {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    if name == "host" || name.is_empty() || !name.chars().all(plain) {
        let message = format!(
            "'{name}' cannot be the name of a kernel: use letters, digits, '.', '_', '+', '-', and not 'host'"
        );
        root.source.problem(at, message);
    }
}
