// SPDX-License-Identifier: GPL-2.0-only
//! Each fix is in the book's table of fixes that guests have shown to work, or says that it was not tried.
//!
//! `crates/dyntick/tests/fixes` makes that table from runs.

use dyntick_explain::rules::{self, UNTRIED};
use std::collections::BTreeSet;

/// The cause and the fix of each row.
fn shown() -> BTreeSet<(String, String)> {
    let page = include_str!("../../../docs/src/fixes.md");
    let (_, rows) = page.split_once("| cause | fix | kernel |").expect("the page has a table");
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cell = |cell: Option<&str>| cell.unwrap().trim().trim_matches('`').to_owned();
    rows.map(|row| {
        let mut cells = row.trim_start_matches('|').split(" | ");
        (cell(cells.next()), cell(cells.next()))
    })
    .collect()
}

#[test]
fn fix_was_shown_to_work_or_is_marked_as_untried() {
    let mut shown = shown();
    let mut wrong = Vec::new();
    for rule in rules::all() {
        for fix in rule.fixes {
            let proven = shown.remove(&(rule.id.to_owned(), fix.action.unfilled().to_string()));
            match (proven, fix.remarked_effect().contains(UNTRIED)) {
                (true, true) => wrong.push(format!(
                    "{}: {} was tried and says that it was not",
                    rule.id,
                    fix.action.unfilled()
                )),
                (false, false) => {
                    wrong.push(format!("{}: no guest has shown {}", rule.id, fix.action.unfilled()))
                }
                _ => {}
            }
        }
    }
    wrong.extend(shown.iter().map(|(rule, fix)| format!("{rule}: {fix} is no fix of it")));
    assert!(wrong.is_empty(), "try them, or mark them as untried:\n{}", wrong.join("\n"));
}
