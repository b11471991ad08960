// SPDX-License-Identifier: GPL-2.0-only
//! The marks of a timeline for a page's script, which draws a part of the window with them.

use crate::{Lane, Timeline};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The columns of all lanes together: the limit for the size of a page, and for the speed of a browser.
const ALL: usize = 400_000;

/// The number of equal columns of the window, which keeps the page small with many lanes.
pub(crate) fn columns_of(timeline: &Timeline) -> usize {
    (ALL / timeline.lanes.len().max(1)).clamp(1000, 8192)
}

/// The marks of a lane: for each column and class with some, `GAP`, `GAP.CLASS` or `GAP.CLASS.COUNT`, in base 36. GAP
/// is the distance from the previous column. The class is left out if it is that of the previous entry and there is one
/// mark; the count is left out if it is 1.
pub(crate) fn encoded(timeline: &Timeline, lane: &Lane, columns: usize) -> String {
    let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for mark in lane.marks.iter().filter(|mark| mark.at_ns < timeline.window_ns) {
        let column = u128::from(mark.at_ns) * columns as u128 / u128::from(timeline.window_ns);
        *counts.entry((column as usize, mark.class.min(timeline.classes.len()))).or_default() += 1;
    }
    let mut text = String::new();
    let (mut before, mut class_before) = (0, 0);
    for ((column, class), count) in counts {
        let separator = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{separator}{}", base36(column - before));
        match (count, class == class_before) {
            (1, true) => {}
            (1, false) => drop(write!(text, ".{}", base36(class))),
            _ => drop(write!(text, ".{}.{}", base36(class), base36(count))),
        }
        (before, class_before) = (column, class);
    }
    text
}

fn base36(mut number: usize) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mark;
    use proptest::prelude::*;

    fn timeline(marks: &[(u64, usize)]) -> Timeline {
        let marks = marks.iter().map(|(at_ns, class)| Mark { at_ns: *at_ns, class: *class }).collect();
        Timeline {
            window_ns: 100_000,
            merged: 0,
            classes: (0..3).map(|n| (n.to_string(), String::new())).collect(),
            lanes: vec![Lane { marks, ..Lane::default() }],
            ..Timeline::default()
        }
    }

    #[test]
    fn repeated_classes_are_left_out() {
        let timeline = timeline(&[(0, 0), (1000, 0), (1001, 2), (40_000, 2), (40_010, 2), (99_999, 7)]);
        assert_eq!(encoded(&timeline, &timeline.lanes[0], 1000), "0 a 0.2 au.2.2 gn.3");
    }

    /// Decodes in the same way as the script.
    fn decoded(text: &str) -> usize {
        text.split_whitespace()
            .map(|entry| entry.split('.').nth(2).map_or(1, |n| usize::from_str_radix(n, 36).unwrap()))
            .sum()
    }

    proptest! {
        #[test]
        fn no_mark_is_lost(marks in prop::collection::vec((0u64..100_000, 0usize..5), 0..300)) {
            let timeline = timeline(&marks);
            prop_assert_eq!(decoded(&encoded(&timeline, &timeline.lanes[0], 1000)), marks.len());
        }
    }
}
