// SPDX-License-Identifier: GPL-2.0-only
//! The keys of study and machine files are the same everywhere: in the reader, in the book's tables and in the
//! schemas that editors complete by.
//!
//! `INSTA_UPDATE=always cargo test -p dyntick-study --test keys` writes tables and schemas anew.

use crate::schema;

use dyntick_study::Study;
use dyntick_study::keys::{Key, Table, Value, claims, machine, study};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a generated file with what is kept, or writes it anew.
fn assert_kept(path: &Path, right: &str) {
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(path, right).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == right, "{} is not what the keys say; INSTA_UPDATE=always writes it anew", path.display());
}

fn study_schema() -> Json {
    schema::of_file("A study of dyntick", &study::STUDY)
}

fn machine_schema() -> Json {
    schema::of_file("A machine of dyntick", &machine::MACHINE)
}

#[test]
fn schemas_are_those_of_the_keys() {
    for (name, schema) in [("study", study_schema()), ("machine", machine_schema())] {
        let path = root().join(format!("docs/src/schemas/dyntick-{name}.json"));
        assert_kept(&path, &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
    }
}

/// The errors that a schema finds in a TOML text.
fn wrong(text: &str, schema: &Json) -> Option<String> {
    let value: toml::Value = toml::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("file:///schema.json", schema.clone()).unwrap();
    let index = compiler.compile("file:///schema.json", &mut schemas).unwrap();
    schemas.validate(&serde_json::to_value(value).unwrap(), index).err().map(|error| format!("{error:#}"))
}

#[test]
fn what_comes_with_dyntick_is_as_the_schemas_say() {
    for (folder, schema) in [("studies", study_schema()), ("machines", machine_schema())] {
        let files: Vec<PathBuf> =
            std::fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(files.len() > 5, "{folder}");
        for path in files {
            let message = wrong(&std::fs::read_to_string(&path).unwrap(), &schema);
            assert_eq!(message, None, "{}", path.display());
        }
    }
}

/// Parts of a file lack what must be in the rest of it.
fn without_required(schema: &mut Json) {
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("required");
        schema.values_mut().for_each(without_required);
    }
}

/// A part of a case stands in one.
fn within_a_case(block: &str) -> String {
    let part = block.find("[[case.").or_else(|| block.find("[case."));
    match part.filter(|_| !block.contains("[[case]]")) {
        Some(at) => format!("{}[[case]]\n{}", &block[..at], &block[at..]),
        None => block.to_owned(),
    }
}

#[test]
fn examples_of_the_book_are_as_the_schemas_say() {
    let mut parts = [study_schema(), schema::of_file("", &study::OWN_CASE), machine_schema()];
    parts.iter_mut().for_each(without_required);
    let mut count = 0;
    for page in std::fs::read_dir(root().join("docs/src")).unwrap().map(|page| page.unwrap().path()) {
        let Ok(text) = std::fs::read_to_string(&page) else { continue };
        for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("\n```").next()) {
            let is_whole = block.starts_with("title") && !block.contains("cores");
            let block = within_a_case(block);
            let message: Vec<String> = match is_whole {
                true => wrong(&block, &study_schema()).into_iter().collect(),
                false => parts.iter().map_while(|schema| wrong(&block, schema)).collect(),
            };
            let is_right = if is_whole { message.is_empty() } else { message.len() < parts.len() };
            assert!(is_right, "{}: {block}\n{}", page.display(), message.join("\n"));
            count += 1;
        }
    }
    assert!(count > 10, "{count} examples");
}

/// A value that no key takes.
const DATE: &str = "1979-05-27";

/// A table in a study in which all else is right: the text before it, and its own keys.
type Place = (&'static Table, &'static str, &'static [(&'static str, &'static str)]);

const HEAD: &str = "title = 't'\nquestion = 'q'\n";
const CASE: &str = "title = 't'\nquestion = 'q'\n[[case]]\nname = 'a'\nkernel = 'debian:6.12'\n";
const OF_CASE: &[(&str, &str)] = &[("name", "'b'"), ("kernel", "'debian:6.12'")];
const OF_CHECK: &[(&str, &str)] = &[("case", "'a'"), ("figure", "'ticks'"), ("is", "'> 0'")];

/// Every key that is declared is read: a value that it cannot have is refused by its name.
#[test]
fn every_key_is_read() {
    let places: [(&str, Place); 7] = [
        ("", (&study::OWN_CASE, "[[case]]", OF_CASE)),
        (CASE, (&study::TASK, "[[case.task]]", &[("cpu", "1"), ("run", "'spin'")])),
        (CASE, (&study::SCRIPT, "[case.script]", &[("cpu", "1"), ("run", "['true']")])),
        (CASE, (&claims::CLAIM, "[[claim]]", &[("text", "'c'"), ("cannot-tell", "'why'")])),
        (CASE, (&claims::CHECK, "[[claim]]\ntext = 'c'\n[[claim.check]]", OF_CHECK)),
        (CASE, (&claims::COMPARE, "[[compare]]", &[("case", "'a'"), ("with", "'a'")])),
        (CASE, (&study::MACHINE, "[machine]", &[("profile", "'sapphire-rapids'")])),
    ];
    for (before, (table, header, own)) in places {
        let before = if before.is_empty() { HEAD } else { before };
        for key in table.keys() {
            let others = own.iter().filter(|(name, _)| *name != key.name);
            let others: String = others.map(|(name, value)| format!("{name} = {value}\n")).collect();
            let text = format!("{before}{header}\n{others}{} = {DATE}\n", key.name);
            let problems = Study::parse(Path::new("x.toml"), &text).expect_err(key.name).to_string();
            assert!(problems.contains(key.name), "{}: {problems}", key.name);
        }
    }
}

/// The book's words for the value of a key.
fn words(key: &Key) -> String {
    let value = match key.value {
        Value::Text => "string".to_owned(),
        Value::TextOrNumber => "string or number".to_owned(),
        Value::Word(words) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            let (last, others) = quoted.split_last().expect("there is a word");
            format!("{} or {last}", others.join(", "))
        }
        Value::Texts => "list of strings".to_owned(),
        Value::TextOrTexts | Value::Work => "string or list of strings".to_owned(),
        Value::Number(..) | Value::Decimal => "number".to_owned(),
        Value::Switch => "`true` or `false`".to_owned(),
        Value::Duration => "duration".to_owned(),
        Value::Size => "size".to_owned(),
        Value::Cpus => "CPUs".to_owned(),
        Value::Quantiles => "list of points".to_owned(),
        Value::Any => "any".to_owned(),
        Value::Settings | Value::Sources | Value::Matrix | Value::Inner(_) => "table".to_owned(),
        Value::Tables(_) => "list of tables".to_owned(),
        Value::Named(_) => "table of tables".to_owned(),
    };
    if key.is_required { format!("{value}, required") } else { value }
}

/// Rows of a table of the book; `defaults` where it has a column for them.
fn rows(table: &Table, defaults: bool) -> String {
    let row = |key: &Key| {
        let name = match key.value {
            Value::Inner(_) | Value::Matrix if !defaults => format!("[{}]", key.name),
            Value::Tables(_) if !defaults && !["check", "evidence"].contains(&key.name) => {
                format!("[[{}]]", key.name)
            }
            Value::Named(_) if !defaults => format!("[{}.NAME]", key.name),
            _ => key.name.to_owned(),
        };
        let default = match (defaults, key.default) {
            (true, default) => format!(" | {}", default.unwrap_or("none")),
            (false, Some(default)) => format!(", default {default}"),
            (false, None) => String::new(),
        };
        format!("| `{name}` | {}{default} | {} |\n", words(key), key.text)
    };
    table.keys().map(row).collect()
}

#[test]
fn the_tables_of_the_book_are_those_of_the_keys() {
    let path = root().join("docs/src/studies.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let tables = [
        ("## The study\n", &study::STUDY, false),
        ("## Cases\n", &study::CASE, true),
        ("### Tasks\n", &study::TASK, false),
        ("## Claims\n", &claims::CLAIM, false),
        ("A check:\n", &claims::CHECK, false),
    ];
    for (heading, table, defaults) in tables {
        let (before, rest) = page.split_once(heading).unwrap_or_else(|| panic!("{heading}"));
        let begin = rest.find("| --- |").expect("a table");
        let begin = begin + rest[begin..].find('\n').unwrap() + 1;
        let after: String =
            rest[begin..].split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
        page = format!("{before}{heading}{}{}{after}", &rest[..begin], rows(table, defaults));
    }
    assert_kept(&path, &page);
}

/// Each key in the book is also shown in use: in a page or in a study that comes with dyntick.
#[test]
fn each_key_of_a_case_is_written_somewhere() {
    let texts: Vec<String> = ["docs/src", "studies"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root().join(folder)).unwrap().flatten())
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .collect();
    let is_written = |key: &str| {
        let assigned = |text: &str| {
            text.match_indices(key).any(|(at, _)| {
                let before = text[..at].chars().next_back().is_none_or(|c| " {\n`\"".contains(c));
                before && text[at + key.len()..].trim_start_matches(' ').starts_with('=')
            })
        };
        let heads = [format!("[case.{key}]"), format!("[[case.{key}]]")];
        texts.iter().any(|text| assigned(text) || heads.iter().any(|head| text.contains(head)))
    };
    let keys = [&study::CASE, &study::TASK, &study::SCRIPT].into_iter().flat_map(Table::keys);
    let missing: Vec<&str> = keys.map(|key| key.name).filter(|name| !is_written(name)).collect();
    assert!(missing.is_empty(), "no example has {missing:?}");
    assert!(!is_written("no-such-key"));
}
