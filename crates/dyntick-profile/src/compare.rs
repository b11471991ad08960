// SPDX-License-Identifier: GPL-2.0-only
//! Two kinds of spans side by side.

use crate::profile::Sums;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One function in both.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Row {
    /// Its name.
    pub function: Arc<str>,
    /// Mean instructions a span in the first.
    pub a: f64,
    /// Mean instructions a span in the second.
    pub b: f64,
    /// The excess of the second over the first.
    pub more: f64,
}

/// The difference of two kinds of spans.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Difference {
    /// Mean instructions a span in the first.
    pub a: f64,
    /// Mean instructions a span in the second.
    pub b: f64,
    /// The functions, the largest difference first. Their differences add up to that of the means.
    pub rows: Vec<Row>,
}

/// Functions that are not listed one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// Their number.
    pub functions: usize,
    /// Their mean instructions a span in the first, together.
    pub a: f64,
    /// Likewise in the second.
    pub b: f64,
    /// The sum of what the second has more.
    pub more: f64,
}

impl Difference {
    /// At most `most` of the functions that differ, the largest difference first, and the sum of the
    /// others that differ; none if all are shown.
    pub fn largest(&self, most: usize) -> (&[Row], Option<Rest>) {
        let differing = self.rows.partition_point(|row| row.more != 0.0);
        let (told, rest) = self.rows[..differing].split_at(differing.min(most));
        let sum = |of: fn(&Row) -> f64| rest.iter().map(of).sum();
        let rest = (!rest.is_empty()).then(|| Rest {
            functions: rest.len(),
            a: sum(|row| row.a),
            b: sum(|row| row.b),
            more: sum(|row| row.more),
        });
        (told, rest)
    }
}

/// Compares two kinds of spans function by function.
pub fn compare(a: &Sums, b: &Sums) -> Difference {
    let names: BTreeSet<&Arc<str>> = a.functions.keys().chain(b.functions.keys()).collect();
    let of =
        |sums: &Sums, name: &Arc<str>| sums.per_span(sums.functions.get(name).copied().unwrap_or_default());
    let row = |name: &Arc<str>| {
        let (a, b) = (of(a, name), of(b, name));
        Row { function: Arc::clone(name), a, b, more: b - a }
    };
    let mut rows: Vec<Row> = names.into_iter().map(row).collect();
    rows.sort_by(|x, y| y.more.abs().total_cmp(&x.more.abs()).then(x.function.cmp(&y.function)));
    Difference { a: a.mean(), b: b.mean(), rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_told_and_the_others_that_differ_summed_up() {
        let kind = |functions: &[(&str, u64)]| Sums {
            count: 1,
            instructions: functions.iter().map(|(_, instructions)| instructions).sum(),
            functions: functions.iter().map(|(name, sum)| ((*name).into(), *sum)).collect(),
        };
        let a = kind(&[("gone", 7), ("same", 5), ("less", 4), ("more", 1)]);
        let b = kind(&[("same", 5), ("less", 1), ("more", 21)]);
        let difference = compare(&a, &b);
        let told = |most| {
            let (told, rest) = difference.largest(most);
            (told.iter().map(|row| &*row.function).collect::<Vec<_>>(), rest)
        };
        let rest = Rest { functions: 2, a: 11.0, b: 1.0, more: -10.0 };
        assert_eq!(told(1), (vec!["more"], Some(rest)));
        assert_eq!(told(3), (vec!["more", "gone", "less"], None));
        assert_eq!(told(9), told(3), "what is the same is not told");
        assert_eq!(compare(&a, &a).largest(1), (&[][..], None));
    }
}
