// SPDX-License-Identifier: GPL-2.0-only
//! The book's page of fixes.

use std::collections::BTreeSet;
use std::sync::Mutex;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/fixes.md");

/// The header of one of its tables.
#[derive(Clone, Copy)]
pub struct Table(&'static str);

/// The advice of `explain`.
pub const EXPLAIN: Table =
    Table("| cause | fix | kernel | before, /s | after, /s |\n| --- | --- | --- | --- | --- |\n");
/// The advice of `check`.
pub const CHECK: Table = Table("| rule | fixed by | kernel |\n| --- | --- | --- |\n");

/// The page as it is.
fn kept() -> String {
    std::fs::read_to_string(PATH).unwrap()
}

/// The keys of a table's rows: all but their figures.
pub fn keys_of(table: Table) -> BTreeSet<String> {
    let page = kept();
    let rows = page.split_once(table.0).map_or("", |(_, rows)| rows);
    rows.lines().take_while(|line| line.starts_with('|')).map(key).collect()
}

/// The first three cells of a row.
pub fn key(row: &str) -> String {
    row.trim_end_matches(" |").split(" | ").take(3).collect::<Vec<_>>().join(" | ")
}

/// Writes the rows of a table anew; all other text stays.
pub fn write(table: Table, rows: impl Iterator<Item = String>) {
    // The tables are those of two tests.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let (page, head) = (kept(), table.0);
    let (before, rest) = page.split_once(head).expect("the page has the table");
    let after: String =
        rest.lines().skip_while(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect();
    let rows: String = rows.map(|row| format!("{row}\n")).collect();
    std::fs::write(PATH, format!("{before}{head}{rows}{after}")).unwrap();
}

/// True if the page must be rewritten.
pub fn is_written() -> bool {
    std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always")
}
