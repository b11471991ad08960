// SPDX-License-Identifier: GPL-2.0-only
//! Two kinds of spans side by side.

use crate::profile::Kind;
use std::collections::BTreeSet;

/// One function in both.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Row {
    /// Its name.
    pub function: String,
    /// Mean instructions a span in the first.
    pub a: f64,
    /// Mean instructions a span in the second.
    pub b: f64,
    /// What the second has more.
    pub more: f64,
}

/// The difference of two kinds of spans.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Difference {
    /// Mean instructions a span in the first.
    pub a: f64,
    /// Mean instructions a span in the second.
    pub b: f64,
    /// The functions, the largest difference first. Their differences add up to that of the means.
    pub rows: Vec<Row>,
}

/// Compares two kinds of spans function by function.
pub fn compare(a: &Kind, b: &Kind) -> Difference {
    let names: BTreeSet<&String> = a.functions.keys().chain(b.functions.keys()).collect();
    let of =
        |kind: &Kind, name: &String| kind.per_span(kind.functions.get(name).copied().unwrap_or_default());
    let row = |name: &String| {
        let (a, b) = (of(a, name), of(b, name));
        Row { function: name.clone(), a, b, more: b - a }
    };
    let mut rows: Vec<Row> = names.into_iter().map(row).collect();
    rows.sort_by(|x, y| y.more.abs().total_cmp(&x.more.abs()).then(x.function.cmp(&y.function)));
    Difference { a: a.per_span(a.instructions()), b: b.per_span(b.instructions()), rows }
}
