// SPDX-License-Identifier: GPL-2.0-only
//! The book's page of fixes.

use crate::judge::Row;
use std::collections::BTreeSet;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/fixes.md");

/// What stands above the rows.
const HEAD: &str = "| cause | fix | kernel | before, /s | after, /s |\n| --- | --- | --- | --- | --- |\n";

/// The page as it is.
pub fn kept() -> String {
    std::fs::read_to_string(PATH).unwrap()
}

/// What each row is about: all but its figures.
pub fn keys_of(page: &str) -> BTreeSet<String> {
    let rows =
        page.split_once(HEAD).map_or("", |(_, rows)| rows).lines().take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split(" | ").take(3).collect::<Vec<_>>().join(" | ")).collect()
}

/// Writes the rows anew; all other text stays.
pub fn write(rows: &[Row]) {
    let page = kept();
    let (before, rest) = page.split_once(HEAD).expect("the page has a table");
    let after: String =
        rest.lines().skip_while(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect();
    let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(PATH, format!("{before}{HEAD}{rows}{after}")).unwrap();
}
