// SPDX-License-Identifier: GPL-2.0-only
//! What a report consists of.

use crate::{Plot, Timeline};
use serde::Serialize;

/// A report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What was asked.
    pub question: String,
    /// The answer in a few plain sentences, a paragraph each.
    pub lead: Vec<String>,
    /// The rest, in order.
    pub blocks: Vec<Block>,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// The begin of a section.
    Heading(String),
    /// Running text.
    Paragraph(String),
    /// Figures.
    Table(Table),
    /// Claims with what became of them.
    Verdicts(Vec<Verdict>),
    /// Causes with their remedies.
    Findings(Vec<Finding>),
    /// What happened when.
    Timeline(Timeline),
    /// Histograms or lines.
    Plot(Plot),
    /// Runs that failed.
    Failures(Vec<Failure>),
    /// Names with values, as versions.
    Pairs(Vec<(String, String)>),
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, a cell a column.
    pub rows: Vec<Vec<Cell>>,
    /// Remarks below.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// What it holds.
    pub header: String,
    /// The unit of its figures; empty for texts.
    pub unit: String,
    /// Where its cells stand.
    pub align: Align,
}

impl Column {
    /// A column of texts.
    pub fn text(header: &str) -> Self {
        Self { header: header.to_owned(), unit: String::new(), align: Align::Left }
    }

    /// A column of figures.
    pub fn figure(header: &str, unit: &str) -> Self {
        Self { header: header.to_owned(), unit: unit.to_owned(), align: Align::Right }
    }
}

/// Where cells stand in their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    /// Texts.
    Left,
    /// Figures.
    Right,
}

/// The text of a cell.
pub type Cell = String;

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// It is so here too.
    Reproduced,
    /// It is not so here.
    NotReproduced,
    /// It hangs on what is irrelevant.
    Inconclusive,
    /// This laboratory cannot say.
    CannotTell,
}

impl Ruling {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Ruling::Reproduced => "reproduced",
            Ruling::NotReproduced => "not reproduced",
            Ruling::Inconclusive => "inconclusive",
            Ruling::CannotTell => "inconclusive",
        }
    }

    /// A sign that does without colour.
    pub fn sign(self) -> &'static str {
        match self {
            Ruling::Reproduced => "✓",
            Ruling::NotReproduced => "✗",
            Ruling::Inconclusive => "~",
            Ruling::CannotTell => "?",
        }
    }
}

/// A claim with what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What is claimed.
    pub claim: String,
    /// What became of it, for each variant; the variant is empty where there is only one.
    pub rulings: Vec<(String, Ruling)>,
    /// What they rest on beside the figures, said with each; often empty.
    pub rests_on: String,
    /// The figures that decided.
    pub evidence: Vec<String>,
    /// What it means.
    pub comment: String,
}

impl Verdict {
    /// A ruling in words, with what it rests on.
    pub fn words(&self, ruling: Ruling) -> String {
        match self.rests_on.is_empty() || ruling == Ruling::CannotTell {
            true => ruling.words().to_owned(),
            false => format!("{} ({})", ruling.words(), self.rests_on),
        }
    }
}

/// A cause with its remedy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What happened, for somebody new to the subject.
    pub title: String,
    /// How often and where, as `10 ticks in 10 s (nohz-full, 6.12)`.
    pub occurrence: String,
    /// How it comes about.
    pub explanation: String,
    /// The chain of causation, from origin to interruption.
    pub chain: Vec<String>,
    /// The kernel functions that ran.
    pub functions: Vec<String>,
    /// Settings that remove it, each with what it does.
    pub fixes: Vec<(String, String)>,
    /// Where in the kernel this is.
    pub source: String,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// Which.
    pub name: String,
    /// Why.
    pub reason: String,
    /// The last lines of its console.
    pub console: Vec<String>,
}
