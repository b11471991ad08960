// SPDX-License-Identifier: GPL-2.0-only
//! What became of a study, in one of the forms in which it can be told.

use super::report;
use crate::json;
use crate::output;
use anyhow::Result;
use dyntick_lab::compare::{Compared, compare_all};
use dyntick_lab::effects::{self, Found};
use dyntick_lab::figures::RunFigures;
use dyntick_lab::lab::CaseResult;
use dyntick_report::Document;
use dyntick_study::{Study, claims};

/// The width that every terminal of today has.
const COLUMNS: usize = 100;

/// How a study is told.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal, 100 columns
    Terminal,
    /// Plain text of 72 columns, for a reply on a mailing list
    Mail,
    /// One file that opens without network
    Html,
    /// Everything, for programs
    Json,
}

/// How the form is asked for.
#[derive(clap::Args)]
pub struct Wanted {
    /// Print the report in this format
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Wanted {
    /// The form.
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// A study's runs, judged.
pub struct Told<'a> {
    study: &'a Study,
    results: &'a [CaseResult],
    verdicts: Vec<claims::Verdict>,
    comparisons: Vec<Compared>,
    effects: Vec<Found>,
    /// The report.
    pub document: Document,
}

impl<'a> Told<'a> {
    /// Judges the claims and puts the report together.
    pub fn of(study: &'a Study, results: &'a [CaseResult]) -> Self {
        let verdicts = claims::judge(study, &RunFigures(results));
        let comparisons = compare_all(study, results);
        let effects = effects::all(study, results);
        let document = report::document(study, results, &verdicts, &comparisons, &effects);
        Self { study, results, verdicts, comparisons, effects, document }
    }

    /// Prints it.
    pub fn print(&self, format: Format) -> Result<()> {
        match format {
            Format::Terminal => {
                output::rendered(dyntick_report::terminal(&self.document, COLUMNS, output::is_terminal()))
            }
            Format::Mail => output::text(dyntick_report::mail(&self.document)),
            Format::Html => output::text(dyntick_report::html(&self.document)),
            Format::Json => output::json(&json::LAB_RUN.of(&self.json())),
        }
    }

    fn json(&self) -> serde_json::Value {
        let case = |result: &CaseResult| match &result.run {
            Ok(run) => serde_json::json!({
                "case": result.case.id, "repetition": result.repetition, "folder": run.folder, "made_here": run.made_here, "asked": run.asked,
                "outcome": run.outcome, "observations": *run.observations, "cpus": run.explanation.per_cpu,
                "lost_events": run.lost_events.values().sum::<u64>(), "lost_events_by_cpu": run.lost_events, "undecoded": run.undecoded, "missing_events": run.missing_events,
            }),
            Err(error) => serde_json::json!({
                "case": result.case.id, "repetition": result.repetition, "failure": error.to_string(),
                "console": result.console_tail,
            }),
        };
        let runs: Vec<_> = self.results.iter().map(case).collect();
        serde_json::json!({
            "study": self.study, "runs": runs, "verdicts": self.verdicts, "comparisons": self.comparisons,
            "effects": self.effects,
        })
    }
}
