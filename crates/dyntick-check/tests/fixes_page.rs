// SPDX-License-Identifier: GPL-2.0-only
//! No fix is forgotten: a guest has shown that it works, as the book's table says, or it says that it was not tried.
//!
//! `crates/dyntick/tests/check.rs` fixes them in a guest.

use dyntick_check::rules::all;
use dyntick_check::tried::{Means, TRIED};
use std::collections::BTreeSet;

fn shown() -> BTreeSet<(&'static str, Means)> {
    let page = include_str!("../../../docs/src/fixes.md");
    let (_, rows) = page.split_once("| rule | fixed by | kernel |").expect("the page has a table");
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |row: &'static str| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let by_command = cells[2] == "the script" || cells[2].starts_with("its command");
        (cells[1].trim_matches('`'), if by_command { Means::Command } else { Means::Parameter })
    };
    rows.map(row).collect()
}

#[test]
fn a_fix_was_shown_to_work_or_says_that_it_was_not_tried() {
    let of_rule = |(rule, means): &(&'static str, &[Means])| {
        means.iter().map(|means| (*rule, *means)).collect::<Vec<_>>()
    };
    let said: BTreeSet<(&str, Means)> = TRIED.iter().flat_map(of_rule).collect();
    assert_eq!(said, shown(), "what tried.rs says, and what the page shows");
    let known: BTreeSet<&str> = all().iter().map(|rule| rule.id).collect();
    assert!(said.iter().all(|(rule, _)| known.contains(rule)), "a rule that there is not");
}
