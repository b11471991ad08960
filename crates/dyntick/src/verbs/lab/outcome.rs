// SPDX-License-Identifier: GPL-2.0-only
//! The outcome of a study, in each format in which it can be printed.

use super::report;
use crate::output::Target;
use anyhow::{Result, bail};
use dyntick_contract::lab::{Judged, JudgedRun};
use dyntick_lab::compare::{Compared, compare_all};
use dyntick_lab::effects::{self, Found};
use dyntick_lab::lab::CaseResult;
use dyntick_lab::lookup::RunFigures;
use dyntick_report::Document;
use dyntick_study::{Study, claims};

/// The format of a report.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal, as wide as it is
    Terminal,
    /// Plain text of 72 columns, for a reply on a mailing list
    Mail,
    /// One file that opens without network
    Html,
    /// Everything, for programs
    Json,
}

/// The format of a report, and its file.
#[derive(clap::Args)]
pub struct Wanted {
    /// Print the report in this format
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Print claims, one table and how to repeat it only, for the terminal or a mail
    #[arg(long)]
    brief: bool,
    #[command(flatten)]
    target: Target,
}

impl Wanted {
    /// The format.
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Returns true if it is printed for a terminal, and not into a file.
    pub fn is_for_a_terminal(&self) -> bool {
        self.format() == Format::Terminal && !self.target.is_named()
    }

    /// Refuses what cannot be printed, and a file that cannot be written, before anything is run.
    pub fn ensure_possible(&self) -> Result<()> {
        self.target.ensure_writable()?;
        match self.format() {
            Format::Html | Format::Json if self.brief => {
                bail!("--brief is for the formats terminal and mail: use --format mail --brief")
            }
            _ => Ok(()),
        }
    }
}

/// A study's runs, judged.
pub struct Outcome<'a> {
    study: &'a Study,
    results: &'a [CaseResult],
    verdicts: Vec<claims::Verdict>,
    comparisons: Vec<Compared>,
    effects: Vec<Found>,
    /// The report.
    pub document: Document,
    /// The short report, for a mail.
    brief: Document,
}

impl<'a> Outcome<'a> {
    /// Judges the claims and puts the report together.
    pub fn of(study: &'a Study, results: &'a [CaseResult]) -> Self {
        let verdicts = claims::judge(study, &RunFigures(results));
        let comparisons = compare_all(study, results);
        let effects = effects::all(study, results);
        let material = report::Material {
            study,
            results,
            verdicts: &verdicts,
            comparisons: &comparisons,
            effects: &effects,
        };
        let (document, brief) = report::documents(&material);
        Self { study, results, verdicts, comparisons, effects, document, brief }
    }

    /// The verdicts on the claims.
    pub fn verdicts(&self) -> &[claims::Verdict] {
        &self.verdicts
    }

    /// Prints it.
    pub fn print(&self, wanted: &Wanted) -> Result<()> {
        let document = if wanted.brief { &self.brief } else { &self.document };
        let target = &wanted.target;
        match wanted.format() {
            Format::Terminal => target.page(document),
            Format::Mail => target.text(&dyntick_report::mail(document)),
            Format::Html => target.text(&dyntick_report::html(&self.document)),
            Format::Json => target.json(&self.judged()),
        }
    }

    fn judged(&self) -> Judged<'_> {
        Judged {
            study: self.study,
            runs: self.results.iter().map(JudgedRun::of).collect(),
            verdicts: &self.verdicts,
            comparisons: &self.comparisons,
            effects: &self.effects,
        }
    }
}
