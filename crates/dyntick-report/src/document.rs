// SPDX-License-Identifier: GPL-2.0-only
//! What a report consists of.

use crate::Flame;
use crate::numbers::counted;
use crate::{Cell, Plot, Timeline};
use dyntick_model::Fix;

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What was asked.
    pub question: String,
    /// The answer in a few plain sentences, a paragraph each.
    pub lead: Vec<String>,
    /// The rest, in order.
    pub blocks: Vec<Block>,
    /// Where it is from; said at the foot of a page and of a mail.
    pub origin: Option<Origin>,
}

/// Where a report is from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The command that makes it again.
    pub command: String,
    /// The program that made it, with its version.
    pub program: String,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// The begin of a section.
    Heading(String),
    /// Running text.
    Paragraph(String),
    /// Figures.
    Table(Table),
    /// A command to be copied, with what it is for.
    Command(String, String),
    /// Claims with their rulings in short, for the top of a report.
    Scores(Vec<Verdict>),
    /// What only a page has room for, below a line that opens it.
    Details(String, Vec<Block>),
    /// Claims with what became of them.
    Verdicts(Vec<Verdict>),
    /// Causes with their fixes.
    Findings(Vec<Finding>),
    /// What happened when.
    Timeline(Timeline),
    /// Stacks, where a page has room for them.
    Flame(Flame),
    /// Histograms or lines.
    Plot(Plot),
    /// Runs that failed.
    Failures(Vec<Failure>),
    /// Names with values, as versions.
    Pairs(Vec<(String, String)>),
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
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
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What it holds.
    pub header: String,
    /// The unit of its figures; empty for texts.
    pub unit: String,
    /// Where its cells stand.
    pub align: Align,
    /// How soon it is left out where a terminal is too narrow: the highest first, 0 never.
    pub spare: u8,
}

impl Column {
    /// A column of texts.
    pub fn text(header: &str) -> Self {
        Self { header: header.to_owned(), unit: String::new(), align: Align::Left, spare: 0 }
    }

    /// A column of figures.
    pub fn figure(header: &str, unit: &str) -> Self {
        Self { header: header.to_owned(), unit: unit.to_owned(), align: Align::Right, spare: 0 }
    }

    /// Whether anything stands above it. A table in which nothing stands above any column has no header.
    pub fn has_header(&self) -> bool {
        !(self.header.is_empty() && self.unit.is_empty())
    }

    /// The column, left out where a terminal is too narrow, the one with the highest number first.
    pub fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }
}

/// Where cells stand in their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Figures.
    Right,
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It is so here too.
    Reproduced,
    /// It is not so here.
    NotReproduced,
    /// It hangs on what is irrelevant.
    Inconclusive,
    /// This laboratory cannot say.
    CannotTell,
    /// A case that it needs was not run.
    NotRun,
}

impl Ruling {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Ruling::Reproduced => "reproduced",
            Ruling::NotReproduced => "not reproduced",
            Ruling::Inconclusive => "inconclusive",
            Ruling::CannotTell => "inconclusive",
            Ruling::NotRun => "not run",
        }
    }

    /// A sign that does without colour.
    pub fn sign(self) -> &'static str {
        match self {
            Ruling::Reproduced => "✓",
            Ruling::NotReproduced => "✗",
            Ruling::Inconclusive => "~",
            Ruling::CannotTell => "?",
            Ruling::NotRun => "○",
        }
    }
}

impl Ruling {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 5] =
        [Self::Reproduced, Self::NotReproduced, Self::Inconclusive, Self::CannotTell, Self::NotRun];
}

/// A claim with what became of it.
#[derive(Clone, Debug, PartialEq)]
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
        match self.rests_on.is_empty() || matches!(ruling, Ruling::CannotTell | Ruling::NotRun) {
            true => ruling.words().to_owned(),
            false => format!("{} ({})", ruling.words(), self.rests_on),
        }
    }

    /// The claim, with its rulings where they differ between variants.
    pub fn in_short(&self) -> String {
        let each = |(variant, ruling): &(String, Ruling)| match variant.is_empty() {
            true => ruling.words().to_owned(),
            false => format!("{variant}: {}", ruling.words()),
        };
        match self.only_ruling() {
            Some(_) => self.claim.clone(),
            None => {
                let all: Vec<String> = self.rulings.iter().map(each).collect();
                format!("{} ({})", self.claim, all.join(", "))
            }
        }
    }

    /// The ruling where all variants have the same one.
    pub fn only_ruling(&self) -> Option<Ruling> {
        let (_, first) = self.rulings.first()?;
        self.rulings.iter().all(|(_, ruling)| ruling == first).then_some(*first)
    }
}

/// How many claims have which ruling, as `4 of 9 claims reproduced, 2 not reproduced`.
pub fn score(verdicts: &[Verdict]) -> String {
    let count = |ruling: Ruling| verdicts.iter().filter(|v| v.only_ruling() == Some(ruling)).count();
    let all = verdicts.len();
    let mut parts =
        vec![format!("{} of {} reproduced", count(Ruling::Reproduced), counted(all as u64, "claim"))];
    let others = [
        (count(Ruling::NotReproduced), "not reproduced"),
        (count(Ruling::Inconclusive) + count(Ruling::CannotTell), "inconclusive"),
        (count(Ruling::NotRun), "not run"),
        (verdicts.iter().filter(|v| v.only_ruling().is_none()).count(), "not the same in all cases"),
    ];
    parts.extend(
        others.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}")),
    );
    parts.join(", ")
}

/// How severe a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something is not as it was asked for.
    Error,
    /// Something has an effect that nobody wants.
    Warning,
    /// Worth knowing.
    Note,
}

impl Level {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }
}

/// A cause with its fixes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finding {
    /// How severe it is, where findings are ordered by that.
    pub level: Option<Level>,
    /// The name by which a timeline of the same document has it among its classes, if it does.
    pub class: String,
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
    /// Changes that remove it, each with what it does.
    pub fixes: Vec<(Fix, String)>,
    /// Where in the kernel this is.
    pub source: String,
}

impl Finding {
    /// Whether it is no more than a title with its fixes: several of a level then stand together.
    pub(crate) fn is_short(&self) -> bool {
        let texts = [&self.occurrence, &self.explanation, &self.source];
        self.level.is_some()
            && texts.iter().all(|text| text.is_empty())
            && self.chain.is_empty()
            && self.functions.is_empty()
    }
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Which.
    pub name: String,
    /// Why.
    pub reason: String,
    /// The last lines of its console.
    pub console: Vec<String>,
}
