// SPDX-License-Identifier: GPL-2.0-only
//! The elements of a report.

use crate::Flame;
use crate::numbers::counted;
use crate::{Cell, Plot, Timeline};
use dyntick_model::Fix;

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The title.
    pub title: String,
    /// The question of the study.
    pub question: String,
    /// The answer in a few plain sentences, a paragraph each.
    pub lead: Vec<String>,
    /// The remaining blocks, in order.
    pub blocks: Vec<Block>,
    /// The origin, shown at the foot of a page and of a mail.
    pub origin: Option<Origin>,
}

/// The origin of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The command that generates it again.
    pub command: String,
    /// The program that made it, with its version.
    pub program: String,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// The heading of a section.
    Heading(String),
    /// Running text.
    Paragraph(String),
    /// A table of figures.
    Table(Table),
    /// A command to be copied, with its purpose.
    Command(String, String),
    /// Claims with their rulings in short, for the top of a report.
    Scores(Vec<Verdict>),
    /// Blocks that only a page has room for, below a line that opens them.
    Details(String, Vec<Block>),
    /// Claims with their rulings.
    Verdicts(Vec<Verdict>),
    /// Causes with their fixes.
    Findings(Vec<Finding>),
    /// Events over time.
    Timeline(Timeline),
    /// Stacks, if a page has room for them.
    Flame(Flame),
    /// Histograms or lines.
    Plot(Plot),
    /// Runs that failed.
    Failures(Vec<Failure>),
    /// Names with values, e.g. versions.
    Pairs(Vec<(String, String)>),
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The title of the table.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Remarks below.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The header of the column.
    pub header: String,
    /// The unit of the figures; empty for texts.
    pub unit: String,
    /// The alignment of the cells.
    pub align: Align,
    /// The order in which columns are left out on a narrow terminal: the highest first, 0 never.
    pub spare: u8,
    /// True for durations of which one outlier decides: the longest, or a high quantile.
    pub is_extreme: bool,
}

impl Column {
    /// A column of texts.
    pub fn text(header: &str) -> Self {
        Self {
            header: header.to_owned(),
            unit: String::new(),
            align: Align::Left,
            spare: 0,
            is_extreme: false,
        }
    }

    /// A column of figures.
    pub fn figure(header: &str, unit: &str) -> Self {
        Self { unit: unit.to_owned(), align: Align::Right, ..Self::text(header) }
    }

    /// The column of the longest of several durations.
    pub fn longest() -> Self {
        Self::figure("longest", "").extreme()
    }

    /// Marks the column as one of durations of which one outlier decides.
    pub fn extreme(self) -> Self {
        Self { is_extreme: true, ..self }
    }

    /// Returns true if the column has a header. A table without any has no header row.
    pub fn has_header(&self) -> bool {
        !(self.header.is_empty() && self.unit.is_empty())
    }

    /// Marks the column to be left out on a narrow terminal, the highest number first.
    pub fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }
}

/// The alignment of cells in their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Figures.
    Right,
}

/// The ruling on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Reproduced here.
    Reproduced,
    /// Not reproduced here.
    NotReproduced,
    /// Depends on an irrelevant change.
    Inconclusive,
    /// This laboratory cannot decide it.
    CannotTell,
    /// A case that it needs was not run.
    NotRun,
}

impl Ruling {
    /// The ruling in words.
    pub fn words(self) -> &'static str {
        match self {
            Ruling::Reproduced => "reproduced",
            Ruling::NotReproduced => "not reproduced",
            Ruling::Inconclusive => "inconclusive",
            Ruling::CannotTell => "inconclusive",
            Ruling::NotRun => "not run",
        }
    }

    /// A sign that is readable without colour.
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
    /// All rulings, in the order in which they are counted.
    pub const ALL: [Self; 5] =
        [Self::Reproduced, Self::NotReproduced, Self::Inconclusive, Self::CannotTell, Self::NotRun];
}

/// A claim with its rulings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The claim.
    pub claim: String,
    /// True if it was published elsewhere, so that it is *reproduced*; a claim of the study's own *holds*.
    pub published: bool,
    /// The number of runs with the same answer, as `6 of 6 runs`; empty without perturbed runs.
    pub agreement: String,
    /// The ruling for each variant; the variant is empty if there is only one.
    pub rulings: Vec<(String, Ruling)>,
    /// The assumptions in addition to the figures, shown with each ruling; often empty.
    pub rests_on: String,
    /// The figures that decided the rulings.
    pub evidence: Vec<String>,
    /// The figures among them that are not known, with the reasons.
    pub unknown: Vec<String>,
    /// The checks that do not hold, each as the value that was compared and its limit.
    pub failed: Vec<String>,
    /// The case for whose lack a variant was not run, by the variant.
    pub lacking: Vec<(String, String)>,
    /// The meaning of the result.
    pub comment: String,
}

impl Verdict {
    /// The one ruling in a word or two; of several, that they differ.
    pub fn only_word(&self) -> &'static str {
        self.only_ruling().map_or("differs", |ruling| self.word(ruling))
    }

    /// The first check that does not hold, and the number of others; empty if all hold.
    pub fn failed_in_short(&self) -> String {
        match &self.failed[..] {
            [] => String::new(),
            [only] => only.clone(),
            [first, others @ ..] => format!("{first}; {} more", others.len()),
        }
    }

    /// Returns true if the variants that were run have one ruling, and others were not run.
    fn is_partly_run(&self) -> bool {
        let mut run =
            self.rulings.iter().map(|(_, ruling)| *ruling).filter(|ruling| *ruling != Ruling::NotRun);
        let first = run.next();
        self.only_ruling().is_none() && run.all(|ruling| Some(ruling) == first)
    }

    /// A ruling in a word or two.
    pub fn word(&self, ruling: Ruling) -> &'static str {
        match ruling {
            Ruling::Reproduced if !self.published => "holds",
            Ruling::NotReproduced if !self.published => "does not hold",
            ruling => ruling.words(),
        }
    }

    /// A ruling in words, with the agreement of the runs and its assumptions.
    pub fn words(&self, ruling: Ruling) -> String {
        let word = self.word(ruling);
        if matches!(ruling, Ruling::CannotTell | Ruling::NotRun) {
            word.to_owned()
        } else {
            with_remarks(word, &[&self.agreement, &self.rests_on])
        }
    }

    /// The claim, with its rulings if they differ between variants, the first check that does not hold, and the
    /// agreement of the runs.
    pub fn in_short(&self) -> String {
        let each = |(variant, ruling): &(String, Ruling)| {
            let lacking = self.lacking.iter().find(|(of, _)| of == variant && *ruling == Ruling::NotRun);
            let case = lacking.map_or(String::new(), |(_, case)| format!(" (--case {case})"));
            let word = format!("{}{case}", self.word(*ruling));
            if variant.is_empty() { word } else { format!("{variant}: {word}") }
        };
        let rulings = match self.only_ruling() {
            Some(_) => String::new(),
            None => self.rulings.iter().map(each).collect::<Vec<_>>().join(", "),
        };
        with_remarks(&self.claim, &[&rulings, &self.failed_in_short(), &self.agreement])
    }

    /// The ruling, if all variants have the same one.
    pub fn only_ruling(&self) -> Option<Ruling> {
        let (_, first) = self.rulings.first()?;
        self.rulings.iter().all(|(_, ruling)| ruling == first).then_some(*first)
    }
}

/// A text with those remarks that are not empty, in brackets.
fn with_remarks(text: &str, remarks: &[&str]) -> String {
    let remarks: Vec<&str> = remarks.iter().copied().filter(|remark| !remark.is_empty()).collect();
    if remarks.is_empty() { text.to_owned() } else { format!("{text} ({})", remarks.join("; ")) }
}

/// The number of claims with each ruling, e.g. `4 of 9 claims reproduced, 2 not reproduced`; for claims of the study's
/// own, `1 of 2 claims holds, 1 does not hold`.
pub fn score(verdicts: &[Verdict]) -> String {
    let count = |ruling: Ruling| verdicts.iter().filter(|v| v.only_ruling() == Some(ruling)).count();
    let not_run = count(Ruling::NotRun);
    let tested = verdicts.len() - not_run;
    if tested == 0 {
        return format!("no claim of {} was tested: their cases were not run", verdicts.len());
    }
    let published = verdicts.iter().any(|verdict| verdict.published);
    let (good, bad) = (count(Ruling::Reproduced), count(Ruling::NotReproduced));
    let [holds, does_not] = if published {
        ["reproduced", "not reproduced"]
    } else {
        [if good == 1 { "holds" } else { "hold" }, if bad == 1 { "does not hold" } else { "do not hold" }]
    };
    let so_far =
        |v: &&Verdict| v.is_partly_run() && v.rulings.iter().any(|(_, ruling)| *ruling == Ruling::Reproduced);
    let so_far = verdicts.iter().filter(so_far).count();
    let partly = verdicts.iter().filter(|v| v.is_partly_run()).count();
    let mut parts = vec![format!("{good} of {} {holds}", counted(tested as u64, "claim"))];
    let others = [
        (bad, does_not),
        (count(Ruling::Inconclusive) + count(Ruling::CannotTell), "inconclusive"),
        (
            so_far,
            if published {
                "reproduced in the cases that were run"
            } else {
                if so_far == 1 {
                    "holds in the cases that were run"
                } else {
                    "hold in the cases that were run"
                }
            },
        ),
        (partly - so_far, "not run in all cases"),
        (
            verdicts.iter().filter(|v| v.only_ruling().is_none() && !v.is_partly_run()).count(),
            "not the same in all cases",
        ),
        (not_run, "more not run"),
    ];
    parts.extend(
        others.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}")),
    );
    parts.join(", ")
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A setting that was asked for is not in effect.
    Error,
    /// An effect is unwanted.
    Warning,
    /// Worth knowing.
    Note,
}

impl Level {
    /// The level in a word.
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
    /// The severity, if findings are ordered by it.
    pub level: Option<Level>,
    /// The name of its class in a timeline of the same document, if any.
    pub class: String,
    /// The event, for a reader new to the subject.
    pub title: String,
    /// The number and the place of its occurrences, e.g. `10 ticks in 10 s (nohz-full, 6.12)`.
    pub occurrence: String,
    /// The explanation of the event.
    pub explanation: String,
    /// The chain of causation, from origin to interruption.
    pub chain: Vec<String>,
    /// The kernel functions that ran.
    pub functions: Vec<String>,
    /// The changes that remove it, each with its effect.
    pub fixes: Vec<(Fix, String)>,
    /// The place in the kernel's source.
    pub source: String,
}

impl Finding {
    /// Returns true if it is only a title with fixes: several of one level are then shown together.
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
    /// The run.
    pub name: String,
    /// The reason.
    pub reason: String,
    /// The last lines of its console.
    pub console: Vec<String>,
}
