// SPDX-License-Identifier: GPL-2.0-only
//! A test that the schemas in `docs/src/schemas/` and the table of `docs/src/json.md` match the types.
//!
//! `INSTA_UPDATE=always cargo test --lib` generates them.

use crate::{ALL, FILES, Format, schema};
use schemars::Schema;
use serde_json::Value;
use std::path::Path;

const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src");
const BEGIN: &str = "| verb | format | version | further keys |\n";

fn all_schemas() -> Vec<(Format, Schema)> {
    ALL.iter().map(|format| (*format, schema(format.name).expect("a schema"))).collect()
}

/// Compares a generated file with the stored one, or writes it.
fn assert_kept(path: &Path, right: &str) {
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(path, right).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == right,
        "{} does not match the types; generate it with INSTA_UPDATE=always",
        path.display()
    );
}

#[test]
fn schemas_match_the_types() {
    for (format, schema) in all_schemas() {
        let path = Path::new(BOOK).join(format!("schemas/{}.json", format.name));
        assert_kept(&path, &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
    }
}

#[test]
fn each_schema_has_a_format() {
    let kept = std::fs::read_dir(Path::new(BOOK).join("schemas")).unwrap();
    let names = ALL.iter().map(|format| format.name).chain(FILES.map(|(name, _)| name));
    let names: Vec<String> = names.map(|name| format!("{name}.json")).collect();
    let known = |name: &str| names.iter().any(|known| known == name);
    let left: Vec<String> = kept
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| !known(name))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn row((format, schema): &(Format, Schema)) -> String {
    let Format { name, version, verb } = format;
    let verbs: Vec<String> = verb.split(", ").map(|verb| format!("`{verb}`")).collect();
    let keys = schema.get("properties").and_then(Value::as_object).unwrap().keys();
    let keys = keys.filter(|key| !["format", "version"].contains(&key.as_str()));
    let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
    format!("| {} | [`{name}`](schemas/{name}.json) | {version} | {} |\n", verbs.join(", "), keys.join(", "))
}

#[test]
fn table_of_the_book_lists_the_formats() {
    let path = Path::new(BOOK).join("json.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the table of formats begins");
    let after: String = rest.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
    let rows: String = all_schemas().iter().map(row).collect();
    assert_kept(&path, &format!("{before}{BEGIN}| --- | --- | --- | --- |\n{rows}{after}"));
}
