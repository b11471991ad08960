// SPDX-License-Identifier: GPL-2.0-only
//! The outcome of a study, in each format in which it can be printed.

use super::report;
use crate::output::Target;
use anyhow::{Result, bail};
use dyntick_contract::lab::Judged;
use dyntick_lab::judgement::Judgement;
use dyntick_lab::lab::CaseResult;
use dyntick_report::Document;
use dyntick_study::Study;
use dyntick_study::claims::Verdict;

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

/// A study's runs, judged, with their reports.
pub struct Outcome<'a> {
    judgement: Judgement<'a>,
    /// The report.
    pub document: Document,
    /// The short report, for a mail.
    brief: Document,
}

impl<'a> Outcome<'a> {
    /// Judges the runs and puts the report together.
    pub fn of(study: &'a Study, results: &'a [CaseResult]) -> Self {
        let judgement = Judgement::of(study, results);
        let (document, brief) = report::documents(&judgement);
        Self { judgement, document, brief }
    }

    /// The verdicts on the claims.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.judgement.verdicts
    }

    /// Prints it.
    pub fn print(&self, wanted: &Wanted) -> Result<()> {
        let document = if wanted.brief { &self.brief } else { &self.document };
        let target = &wanted.target;
        match wanted.format() {
            Format::Terminal => target.page(document),
            Format::Mail => target.text(&dyntick_report::mail(document)),
            Format::Html => target.text(&dyntick_report::html(&self.document)),
            Format::Json => target.json(&Judged::of(&self.judgement)),
        }
    }
}
