// SPDX-License-Identifier: GPL-2.0-only
//! Each fix was shown to work by a guest, as the book's table lists it, or is marked as not tried.
//!
//! `crates/dyntick/tests/check.rs` applies them in a guest.

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
fn each_fix_was_tried_or_is_marked_as_untried() {
    let of_rule = |(rule, means): &(&'static str, &[Means])| {
        means.iter().map(|means| (*rule, *means)).collect::<Vec<_>>()
    };
    let said: BTreeSet<(&str, Means)> = TRIED.iter().flat_map(of_rule).collect();
    assert_eq!(said, shown(), "the table in tried.rs, and the table on the page");
    let known: BTreeSet<&str> = all().iter().map(|rule| rule.id).collect();
    assert!(said.iter().all(|(rule, _)| known.contains(rule)), "an unknown rule");
}
