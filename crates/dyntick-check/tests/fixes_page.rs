// SPDX-License-Identifier: GPL-2.0-only
//! No rule is forgotten: a guest has shown that its mends work, as the book's table says, or it says that
//! they were not tried.
//!
//! `crates/dyntick/tests/check.rs` mends them in a guest.

use dyntick_check::rules::{UNTRIED, all};
use std::collections::BTreeSet;

fn shown() -> BTreeSet<&'static str> {
    let page = include_str!("../../../docs/src/fixes.md");
    let (_, rows) = page.split_once("| rule | mended by | kernel |").expect("the page has a table");
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('`').nth(1).unwrap()).collect()
}

#[test]
fn a_mend_was_shown_to_work_or_says_that_it_was_not_tried() {
    let (shown, untried): (_, BTreeSet<&str>) = (shown(), UNTRIED.iter().copied().collect());
    let known: BTreeSet<&str> = all().iter().map(|rule| rule.id).collect();
    let neither: Vec<_> = known.iter().filter(|id| !shown.contains(*id) && !untried.contains(*id)).collect();
    assert!(neither.is_empty(), "try them in the loop, or name them in UNTRIED: {neither:?}");
    let both: Vec<_> = shown.intersection(&untried).collect();
    assert!(both.is_empty(), "tried, and said not to be: {both:?}");
    assert!(shown.union(&untried).all(|id| known.contains(id)), "a rule that there is not");
}
