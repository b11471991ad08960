// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab run`: a study from its file to its report.

use super::changes::{Changes, Chosen};
use super::outcome::{Outcome, Wanted};
use super::place::Place;
use super::rulings::Ran;
use super::status::{ABORT, Statuses};
use super::{kept, own_binary, refused, stopped};
use crate::progress::Display;
use crate::{failure, output};
use anyhow::{Result, bail};
use clap::Args;
use dyntick_kernels::build::private_note;
use dyntick_kernels::cache::Cache;
use dyntick_lab::lab::{CaseResult, Fault, Lab, tools};
use dyntick_study::{Case, Study, check};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `dyntick lab run`.
#[derive(Args)]
pub struct Arguments {
    /// Study: a name of `dyntick lab studies`, or a file
    study: PathBuf,
    #[command(flatten)]
    chosen: Chosen,
    /// Run N guests at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Write runs and report to DIR [default: out/STUDY]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    statuses: Statuses,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    wanted: Wanted,
}

/// Runs the study.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    match run_study(&arguments) {
        Err(error) if arguments.statuses.bisect() && !output::reader_left(&error) => {
            failure::tell(&error);
            Ok(ExitCode::from(ABORT))
        }
        ended => ended,
    }
}

fn run_study(arguments: &Arguments) -> Result<ExitCode> {
    arguments.wanted.ensure_possible()?;
    let study = arguments.changes.study(&arguments.study, &arguments.chosen)?;
    arguments.statuses.ensure_possible(&study)?;
    ensure_few(&study.cases)?;
    note_spelling(&study.cases);
    note_private_sources(&study, &arguments.study);
    let out = Place::of(arguments.out.as_deref(), &study.name);
    tools::ensure(&study.cases)?;
    out.ensure_usable()?;
    stopped::say_what_is_kept(&out.runs())?;
    let results = arguments.execute(&study, &out)?;
    if is_refused(&results) {
        refused::say_where(&arguments.study, &results);
        output::note("nothing was measured, and no report was written");
        return Ok(ExitCode::from(arguments.statuses.of(&results, &[])));
    }
    arguments.report(&study, &out, &results)
}

impl Arguments {
    /// Runs the cases. Nothing is written before kernels and memory are known to do: an empty report would replace an
    /// earlier one.
    fn execute(&self, study: &Study, out: &Place) -> Result<Vec<CaseResult>> {
        let display = Display::new();
        let watch = |progress| display.show(progress);
        let lab = Lab::open(Cache::of_user()?, own_binary()?, &watch)?;
        lab.ensure_kernels(&study.cases)?;
        lab.ensure_memory(&study.cases)?;
        let runs = out.make_runs()?;
        Ok(lab.run_all(&study.cases, &runs, self.jobs.into()))
    }

    /// Judges the claims, stores and prints the report. It is printed even if it cannot be stored.
    fn report(&self, study: &Study, out: &Place, results: &[CaseResult]) -> Result<ExitCode> {
        let outcome = Outcome::of(study, results);
        let is_whole = self.chosen.cases.is_empty() && results.iter().all(|result| result.run.is_ok());
        let kept = kept::keep(&outcome.document, out.folder(), is_whole);
        outcome.print(&self.wanted)?;
        refused::say_where(&self.study, results);
        let kept = kept?;
        if self.wanted.is_for_a_terminal() {
            output::line(format_args!("\nReport: {kept}"))?;
        }
        let open = Ran::of(study, results).open(outcome.verdicts());
        Ok(ExitCode::from(self.statuses.of(results, &open)))
    }
}

/// Names the kernels that are built from a source that only this user may read.
fn note_private_sources(study: &Study, path: &Path) {
    for (name, recipe) in &study.kernels {
        if let Some(note) = private_note(recipe) {
            output::note(format_args!("the kernel {name} is {note}"));
        }
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    if let Some(note) = dyntick_study::private_note(folder, &study.cases) {
        output::note(note);
    }
}

/// Returns true if there is nothing to report: no case has a run, and no failure is a result. The reasons were printed
/// as each ended.
fn is_refused(results: &[CaseResult]) -> bool {
    let refused = |result: &CaseResult| result.run.as_ref().is_err_and(|error| error.fault() != Fault::Guest);
    results.iter().all(refused)
}

/// Says which parameters look misspelt where the kernel may be patched. Those of other kernels were refused when the
/// study was read.
fn note_spelling(cases: &[Case]) {
    for case in cases.iter().filter(|case| check::may_be_patched(case)) {
        for problem in check::misspelt(case) {
            output::note(format_args!("case '{}': {problem}", case.id));
        }
    }
}

/// Refuses more runs than can be held until the report is made.
fn ensure_few(cases: &[Case]) -> Result<()> {
    const MOST_RUNS: u64 = 10_000;
    let runs: u64 = cases.iter().map(|case| u64::from(case.runs())).sum();
    if runs > MOST_RUNS {
        bail!(
            "these are {runs} runs, and at most {MOST_RUNS} are possible at once: name fewer cases (--case), or repeat \
             them less (--repeat)"
        );
    }
    Ok(())
}
