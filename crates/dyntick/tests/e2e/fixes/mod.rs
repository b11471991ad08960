// SPDX-License-Identifier: GPL-2.0-only
//! Every fix that `dyntick explain` shows as one works in a guest, as it is printed, and makes nothing
//! else worse. The book's page of fixes is made from these runs.
//!
//! `make test-fixes` runs them all; with `INSTA_UPDATE=always` it writes the page anew. Figures of a page
//! are of the binary that wrote it: another lies elsewhere in the guest's memory and yields slightly others,
//! so what is compared are the rows.

mod closed;
mod guests;
mod judge;
mod page;
mod starts;
mod trials;

use crate::harness::is_full;
use closed::Start;
use guests::Group;
use judge::Row;
use std::collections::BTreeSet;

/// The fixes of the groups that hold, and what does not.
fn tried(groups: &[Group]) -> (Vec<Row>, Vec<String>) {
    let (all, mut wrong) = guests::tried(groups);
    let mut rows = Vec::new();
    for one in all {
        match judge::judged(&one) {
            Ok(row) => rows.extend(row),
            Err(why) => wrong.push(why),
        }
    }
    rows.sort_by_key(Row::key);
    rows.dedup_by_key(|row| row.key());
    (rows, wrong)
}

/// The fixes that differ most from each other: a task that is moved, a kernel setting, a boot parameter.
#[test]
fn a_fix_of_each_kind_works() {
    let (rows, wrong) = tried(&trials::representative());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let page = page::keys_of(page::EXPLAIN);
    let new: Vec<&Row> = rows.iter().filter(|row| !page.contains(&row.key())).collect();
    assert!(rows.len() >= 4 && new.is_empty(), "not on the page: {new:?} of {rows:?}");
}

#[test]
#[ignore = "boots some forty guests: make test-fixes"]
fn every_fix_works() {
    let (rows, wrong) = tried(&trials::all());
    if page::is_written() {
        page::write(page::EXPLAIN, rows.iter().map(Row::to_string));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let shown: BTreeSet<String> = rows.iter().map(Row::key).collect();
    let kept = page::keys_of(page::EXPLAIN);
    assert_eq!(kept, shown, "write docs/src/fixes.md anew: INSTA_UPDATE=always make test-fixes");
}

/// The rows of what `check` fixes from these starts.
fn fixed(starts: &[Start]) -> BTreeSet<String> {
    let (rows, wrong) = closed::closed(starts);
    if page::is_written() && starts.len() == starts::ALL.len() {
        page::write(page::CHECK, rows.iter().map(ToString::to_string));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    rows.iter().map(|row| page::key(&row.to_string())).collect()
}

/// The worst of them. Without test-full, `check::what_is_wrong_is_found_and_its_commands_fix_it` stands for them.
#[test]
fn check_leaves_nothing_that_it_fixes() {
    if !is_full() {
        return;
    }
    let rows = fixed(starts::WORST);
    let page = page::keys_of(page::CHECK);
    let new: Vec<&String> = rows.difference(&page).collect();
    assert!(new.is_empty(), "not on the page: {new:?}");
    for (rule, by) in starts::WORST_RULES {
        let row = format!("| `{rule}` | {by} | 6.12");
        assert!(rows.contains(&row), "'{row}' is missing in {rows:?}");
    }
}

#[test]
#[ignore = "boots some fifty guests: make test-fixes"]
fn check_leaves_nothing_that_it_fixes_anywhere() {
    let rows = fixed(starts::ALL);
    assert_eq!(
        page::keys_of(page::CHECK),
        rows,
        "write docs/src/fixes.md anew: INSTA_UPDATE=always make test-fixes"
    );
}
