// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick compare A B [C…]`: are the figures of B better than those of A, worse, or the same?

mod table;

use crate::output::{self, Target};
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_contract::compare::Printed;
use dyntick_lab::sides::{self, KnownSide};
use dyntick_stats::compare::{Comparison, Outcome, Question, Row, Verdict};
use std::path::Path;
use std::process::ExitCode;

/// The arguments of `dyntick compare`.
#[derive(Args)]
pub struct Arguments {
    /// Sides to compare; the first is the base. A file that a tool printed, a folder of such files (each a
    /// run), the folder of a study's runs or of one run; NAME=PATH gives it that name
    #[arg(required = true, num_args = 2.., value_name = "SIDE")]
    sides: Vec<String>,
    /// Compare only metrics whose name contains NAME; may be given several times. Of runs of a study any
    /// figure can be named, as tick_cause:fair-server
    #[arg(short, long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// Treat differences of up to PERCENT percent as the same
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    same_within: f64,
    /// Count samples above each LIMIT, in the unit of the metric
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    above: Vec<u64>,
    /// Exit with status 1 if a metric is at least this bad
    #[arg(long, value_enum, default_value_t = FailOn::Worse)]
    fail_on: FailOn,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// Any metric is worse
    Worse,
    /// Any metric is worse, differs or is inconclusive
    Inconclusive,
    /// Nothing
    Never,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse::<f64>().map_err(|error| error.to_string())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("must be from 0 to 100".to_owned()) }
}

/// Reads a side, `PATH` or `NAME=PATH`, and prints its notes.
fn read(named: &str, wanted: &[String]) -> Result<KnownSide> {
    let (label, path) = match named.split_once('=') {
        Some((label, path)) if !Path::new(named).exists() => (label, path),
        _ => (named, named),
    };
    let known = sides::read(label, Path::new(path), wanted).with_context(|| path.to_owned())?;
    for note in &known.notes {
        output::note(note);
    }
    Ok(known)
}

/// Compares; the status is 1 where the comparison failed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    dyntick_system::leave_half_of_memory();
    let mut known = Vec::new();
    for side in &arguments.sides {
        known.push(read(side, &arguments.metrics)?);
    }
    let disturbed_runs: Vec<usize> = known.iter().map(|known| known.disturbed_runs).collect();
    let (sides, made_here): (Vec<_>, Vec<_>) =
        known.into_iter().map(|known| (known.side, known.made_here)).unzip();
    let question = Question { same_within: arguments.same_within, limits: arguments.above.clone() };
    let comparison = Comparison::of(&sides, question);
    if comparison.rows.is_empty() {
        bail!("{}", nothing_in_common(&comparison, &arguments.metrics));
    }
    let failed = comparison.rows.iter().flat_map(verdicts).any(|verdict| arguments.fail_on.fails(&verdict));
    if arguments.json {
        arguments.target.json(&Printed { comparison, made_here, disturbed_runs })?;
    } else {
        arguments.target.page(&table::document(&comparison))?;
    }
    Ok(ExitCode::from(u8::from(failed)))
}

fn nothing_in_common(comparison: &Comparison, wanted: &[String]) -> String {
    let of = |side: usize| {
        let names = comparison.missing.iter().filter(move |(_, having)| having.contains(&side));
        let names: Vec<&str> = names.map(|(name, _)| name.as_str()).take(5).collect();
        format!(
            "{} has {}",
            comparison.labels[side],
            if names.is_empty() { "none".into() } else { names.join(", ") }
        )
    };
    let wanted =
        if wanted.is_empty() { String::new() } else { format!(" named like {}", wanted.join(" or ")) };
    let have: Vec<String> = (0..comparison.labels.len()).map(of).collect();
    format!("the sides have no metric{wanted} in common: {}", have.join("; "))
}

/// The verdict of each figure of a row.
fn verdicts(row: &Row) -> Vec<Verdict> {
    match &row.outcome {
        Outcome::Refused(_) => Vec::new(),
        Outcome::Runs(figure) => vec![figure.verdict],
        Outcome::Distribution(all) => all.points.iter().map(|(_, figure)| figure.verdict).collect(),
    }
}

impl FailOn {
    fn fails(self, verdict: &Verdict) -> bool {
        use dyntick_stats::compare::Change;
        let worse = matches!(verdict, Verdict::Worse | Verdict::TheChange { change: Change::Worse, .. });
        let open = matches!(
            verdict,
            Verdict::Inconclusive { .. }
                | Verdict::Different
                | Verdict::TheChange { change: Change::Different, .. }
        );
        match self {
            Self::Worse => worse,
            Self::Inconclusive => worse || open,
            Self::Never => false,
        }
    }
}
