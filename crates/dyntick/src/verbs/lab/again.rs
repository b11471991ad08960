// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab report`: the report of what has been run, without running anything.

use super::changes::{Changes, Chosen, LastRun};
use super::outcome::{Outcome, Wanted, stored};
use super::report;
use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_kernels::cache::Cache;
use dyntick_lab::judgement::Judgement;
use dyntick_lab::lab::{CaseResult, LabError, Place};
use dyntick_lab::seal::Sealer;
use dyntick_lab::store::{self, Kept};
use dyntick_model::text::clean_line;
use dyntick_study::{Case, Study};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The arguments of `dyntick lab report`: those of `lab run` that decide which runs are meant.
#[derive(Args)]
#[command(
    mut_arg("cases", |arg| arg.help("Show only cases of this name or id; may be given several times")),
    mut_arg("full_size", |arg| arg.help("Show the runs at the size of the published experiment")),
    mut_arg("clock", |arg| arg.help("Show the runs on this clock instead of the study's")),
    mut_arg("repeat", |arg| arg.help("Show N runs of each case (wall clock only)")),
    mut_arg("perturb", |arg| arg.help("Show N more runs of each case with an irrelevant change (virtual clock only)")),
    mut_arg("kernels", |arg| arg.help("Show the runs on this kernel, by the name and path that `lab run` was given; \
                                       given twice, side by side")),
    mut_arg("across", |arg| arg.help("Show the runs on each of these kernels, side by side")),
    mut_arg("append", |arg| arg.help("Show the runs with TEXT added to the kernel command line")),
    mut_arg("set", |arg| arg.help("Show the runs with this key of each case")),
)]
pub struct Arguments {
    /// Study: a name of `dyntick lab studies`, or a file
    study: PathBuf,
    #[command(flatten)]
    chosen: Chosen,
    /// Read runs from DIR [default: out/STUDY]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    changes: Changes,
    /// Show the study as its file has it, and not with the options of the last `dyntick lab run`
    #[arg(long)]
    as_in_file: bool,
    #[command(flatten)]
    wanted: Wanted,
}

impl Arguments {
    /// The study with the options of this command line, or where it has none with those of the last run.
    fn study(&self) -> Result<Study> {
        if self.study.is_dir() {
            bail!(
                "cannot read {}: it is a folder; name the study, and its folder by --out: dyntick lab report STUDY --out {}",
                self.study.display(),
                self.study.display()
            );
        }
        let has_none = self.changes == Changes::default() && self.chosen.with_cases(&[]) == Chosen::default();
        if has_none && !self.as_in_file {
            let plain = self.changes.study(&self.study, &self.chosen)?;
            if let Some((chosen, changes)) = LastRun::of(Place::of(self.out.as_deref(), &plain.name).folder())
            {
                output::note(format_args!(
                    "with the options of the last run: {}; --as-in-file leaves them out",
                    clean_line(&changes.typed(&chosen))
                ));
                return changes.study(&self.study, &chosen.with_cases(&self.chosen.cases));
            }
            return Ok(plain);
        }
        self.changes.study(&self.study, &self.chosen)
    }
}

/// Prints what is there. A case that was not run is named in the report.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.wanted.ensure_possible()?;
    let study = arguments.study()?;
    let out = Place::of(arguments.out.as_deref(), &study.name);
    let results = kept(&study, &out.runs());
    if results.iter().all(|result| result.run.is_err()) {
        bail!(
            "{} has no run of this study's cases as they are now; to run them: {}{}",
            out.folder().display(),
            report::command(),
            reasons(&results)
        );
    }
    let wanted = &arguments.wanted;
    Outcome::of(Judgement::of(&study, results), wanted).print(wanted, &arguments.study)?;
    if let Some(stored) = stored(out.folder()) {
        wanted.print_place(&stored)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The reasons for which stored runs could not be read, a line for each of the first.
fn reasons(results: &[CaseResult]) -> String {
    const SHOWN: usize = 3;
    let why = |result: &CaseResult| {
        let error = result.run.as_ref().err().filter(|error| !matches!(error, LabError::NotRun))?;
        Some(format!("\n  {}: {error}", result.case.id))
    };
    let all: Vec<String> = results.iter().filter_map(why).collect();
    let more = all.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!("\n  and {more} more that cannot be read") } else { String::new() };
    all.into_iter().take(SHOWN).chain([rest]).collect()
}

/// The newest kept run of each case, and all its repetitions.
pub fn kept(study: &Study, runs: &Path) -> Vec<CaseResult> {
    // Looking at what is there needs no cache.
    let sealer = Cache::of_user_as_it_is().ok().and_then(|cache| Sealer::known(&cache));
    let analysing = |folder: &Path| output::step(format_args!("analysing {}", folder.display()));
    let found = store::newest(runs, &study.cases, sealer.as_ref(), &analysing);
    let result = |case: &Arc<Case>, repetition, run| CaseResult { case: case.clone(), repetition, run };
    let mut of_cases: BTreeMap<usize, Vec<Kept>> = BTreeMap::new();
    for kept in found {
        of_cases.entry(kept.case).or_default().push(kept);
    }
    let mut of_case = |(number, case): (usize, &Case)| -> Vec<CaseResult> {
        let case = &Arc::new(case.clone());
        // Moved, not copied: a run may take much of the memory.
        let kept = of_cases.remove(&number).unwrap_or_default().into_iter();
        let runs: Vec<CaseResult> =
            kept.map(|kept| result(case, kept.repetition, kept.run.map_err(LabError::from))).collect();
        if runs.is_empty() { vec![result(case, 0, Err(LabError::NotRun))] } else { runs }
    };
    study.cases.iter().enumerate().flat_map(&mut of_case).collect()
}
