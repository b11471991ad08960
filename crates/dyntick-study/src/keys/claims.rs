// SPDX-License-Identifier: GPL-2.0-only
//! The keys of what a study says of its cases: claims, comparisons, effects and published figures.

use super::Value::{Number, Tables, Text, TextOrNumber, Texts};
use super::{Key, Table};

/// `[published]`.
pub static PUBLISHED: Table = Table::new(
    "published",
    &[&[
        Key::required("source", Text, "who, where and when"),
        Key::optional("figures", Tables(&PUBLISHED_FIGURE), "the published figures"),
    ]],
);

/// `[[published.figures]]`.
pub static PUBLISHED_FIGURE: Table = Table::new(
    "published-figure",
    &[&[
        Key::required("label", Text, "what it is"),
        Key::required("value", TextOrNumber, "as it was published"),
        Key::required("unit", Text, "the unit of both"),
        Key::optional("our-unit", Text, "the unit of ours where it is another one"),
        Key::required("case", Text, "the case that it is compared with, as in a check"),
        Key::required("figure", Text, "the figure that it is compared with"),
        Key::optional("ratio-to", Text, "the case whose figure both are divided by"),
        Key::optional("note", Text, "what must be known to compare them"),
    ]],
);

/// `[[claim]]`.
pub static CLAIM: Table = Table::new(
    "claim",
    &[&[
        Key::required("text", Text, "the claim, as it was made"),
        Key::optional("check", Tables(&CHECK), "the checks; all must hold"),
        Key::optional("cannot-tell", Text, "instead of `check`: why this laboratory cannot answer"),
        Key::optional(
            "evidence",
            Tables(&EVIDENCE),
            "checks without `is`: figures that are shown with the claim, and not judged",
        ),
        Key::optional("only", Texts, "the matrix labels (as kernels) that the claim is about"),
        Key::optional("comment", Text, "what the answer means, shown with it"),
    ]],
);

const OF_CHECK: [Key; 5] = [
    Key::required(
        "case",
        Text,
        "a case's name, with all its variants, or `NAME/LABEL` for those with that label",
    ),
    Key::required("figure", Text, "see [Figures](#figures)"),
    Key::optional("cpu", Number(0, 8191), "that CPU alone, instead of the measured CPUs together"),
    Key::optional("ratio-to", Text, "a case: divide by the same figure of it"),
    Key::optional("minus", Text, "a case: or subtract its figure"),
];

/// A check.
pub static CHECK: Table = Table::new(
    "check",
    &[&OF_CHECK, &[Key::required("is", Text, "`\"<= 2\"`, `\"< 2\"`, `\"== 2\"`, `\"> 2\"` or `\">= 2\"`")]],
);

/// A figure that is shown and not judged; a bound is accepted there.
pub static EVIDENCE: Table =
    Table::new("evidence", &[&OF_CHECK, &[Key::optional("is", Text, "a bound; it is not judged")]]);

/// `[[compare]]`.
pub static COMPARE: Table = Table::new(
    "compare",
    &[&[
        Key::optional("title", Text, "what it shows"),
        Key::required("case", Text, "the case, as in a check"),
        Key::required("with", Text, "what it is compared with"),
        Key::optional("spans", Texts, "the kinds of spans whose functions are compared"),
    ]],
);

/// `[[effects]]`.
pub static EFFECTS: Table = Table::new(
    "effects",
    &[&[
        Key::optional("title", Text, "what it shows"),
        Key::required("case", Text, "the name of one `[[case]]` with a matrix"),
        Key::required("figures", Texts, "the figures, at most 16"),
    ]],
);
