// SPDX-License-Identifier: GPL-2.0-only
//! The `[kernels.NAME]` tables: kernels that a study has built to order.

use super::keys::study::KERNEL;
use super::reader::{Section, Value};
use dyntick_model::Recipe;
use dyntick_model::recipe::check_source;
use dyntick_model::shipped::{lacking_fragment, lacking_patch};
use std::collections::BTreeMap;
use std::path::Path;

/// The largest number of kernels: the files that each names are looked up when the study is read.
const MOST: usize = 64;

/// Reads the tables; paths in them are meant from the folder of the study.
pub fn read(root: Section<'_, '_, '_>, study: &Path) -> BTreeMap<String, Recipe> {
    let Some(tables) = root.section("kernels", "[kernels]") else { return BTreeMap::new() };
    if tables.table.len() > MOST {
        root.source.problem(tables.at, format!("a study has at most {MOST} kernels of its own"));
        return BTreeMap::new();
    }
    let folder = study.parent().unwrap_or(Path::new(""));
    let mut recipes = BTreeMap::new();
    for (name, value) in tables.table {
        let at = name.span().start;
        let name = name.get_ref().as_ref();
        refuse_unfit_name(root, name, at);
        let table = Section::of(root.source, "[kernels.NAME]", name, value);
        recipes.insert(name.to_owned(), table.map(|table| recipe(table, folder)).unwrap_or_default());
    }
    recipes
}

fn recipe(table: Section<'_, '_, '_>, folder: &Path) -> Recipe {
    table.only(&KERNEL);
    let list = |key: &str, value| texts(table, key, value);
    let recipe = Recipe {
        source: table.required_text("source").unwrap_or_default(),
        config: table.required("config").map(|value| list("config", value)).unwrap_or_default(),
        patches: table.get("patches").map(|value| list("patches", value)).unwrap_or_default(),
    };
    let note = |key: &str, message: String| {
        table.source.problem(table.get(key).map_or(table.at, |value| value.span().start), message);
    };
    if let (Some(_), Err(error)) = (table.get("source"), check_source(&recipe.source)) {
        note("source", format!("source: {error}"));
    }
    recipe.config.iter().filter_map(|name| lacking_fragment(name)).for_each(|lack| {
        note("config", format!("config: {lack}"));
    });
    recipe.patches.iter().filter_map(|name| lacking_patch(name)).for_each(|lack| {
        note("patches", format!("patches: {lack}"));
    });
    recipe.relative_to(folder)
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

#[cfg(test)]
mod tests {
    use super::super::{Size, parse};
    use std::path::Path;

    fn problems(study: &Path, kernel: &str) -> String {
        let text = format!(
            "title = 't'\nquestion = 'q'\n[kernels.k]\nconfig = 'lab'\n{kernel}\n[[case]]\nname = 'a'\nkernel = 'k'\n"
        );
        let parsed = parse::study(study, &text, Size::Scaled);
        parsed.map_err(|problems| problems.to_string()).err().unwrap_or_default()
    }

    #[test]
    fn a_study_has_few_kernels_of_its_own() {
        let outer = tempfile::tempdir().unwrap();
        let study = outer.path().join("s.toml");
        let kernels = |count: usize| -> String {
            (1..count)
                .map(|number| format!("[kernels.k{number}]\nconfig = 'lab'\nsource = 'debian:6.12'\n"))
                .collect()
        };
        let words = |count| problems(&study, &format!("source = 'debian:6.12'\n{}", kernels(count)));
        assert_eq!(words(super::MOST), "");
        assert!(words(super::MOST + 1).contains("at most 64 kernels"));
    }
}
