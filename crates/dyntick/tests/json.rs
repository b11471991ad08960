// SPDX-License-Identifier: GPL-2.0-only
//! What `--json` prints has the name, the version and the keys that the book gives it.

use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

const PAGE: &str = include_str!("../../../docs/src/json.md");

/// Of a row of the book's table: format, version, and all keys.
fn rows() -> Vec<(&'static str, u64, BTreeSet<&'static str>)> {
    let cells = |line: &'static str| line.split('|').map(str::trim).collect::<Vec<_>>();
    let rows = PAGE.lines().filter(|line| line.contains("| `dyntick-")).map(cells);
    let names = |text: &'static str| text.split('`').skip(1).step_by(2);
    rows.map(|row| {
        let keys = names(row[4]).chain(["format", "version"]).collect();
        (names(row[2]).next().unwrap(), row[3].parse().unwrap(), keys)
    })
    .collect()
}

/// Asserts that what was printed is of the format.
fn assert_is(format: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let value: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{format}: {error}: {text}"));
    assert!(text.starts_with("{\n  \"format\":"), "the first key: {text}");
    let (_, version, keys) = rows().into_iter().find(|(name, ..)| *name == format).unwrap();
    assert_eq!((value["format"].as_str(), value["version"].as_u64()), (Some(format), Some(version)));
    let printed: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(printed, keys, "{format}");
}

fn printed(words: &[&str]) -> Vec<u8> {
    let binary = std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into());
    Command::new(binary).args(words).output().unwrap().stdout
}

#[test]
fn keys_are_those_of_the_book() {
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/../dyntick-formats/tests/fixtures/hyperfine.json");
    assert_is("dyntick-compare", &printed(&["compare", "--json", tool, &format!("b={tool}")]));
    assert_is("dyntick-check", &printed(&["check", "--json", "--fail-on", "never"]));
    assert_is("dyntick-lab-machines", &printed(&["lab", "machines", "--json"]));
    let machines: Value = serde_json::from_slice(&printed(&["lab", "machines", "--json"])).unwrap();
    let name = machines["machines"][0]["name"].as_str().unwrap();
    assert_is("dyntick-lab-machine", &printed(&["lab", "machines", name, "--json"]));
}

#[test]
fn formats_of_the_book_are_those_of_the_code() {
    let code = include_str!("../src/json.rs");
    let of_code: BTreeSet<&str> = code.split('"').filter(|text| text.starts_with("dyntick-")).collect();
    let of_book: BTreeSet<&str> = rows().into_iter().map(|(name, ..)| name).collect();
    assert_eq!(of_code, of_book);
}
