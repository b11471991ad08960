// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab report`: the report of what has been run, without running anything.

use super::tell::{Told, Wanted};
use anyhow::{Result, bail};
use clap::Args;
use dyntick_lab::cache::Cache;
use dyntick_lab::lab::{CaseResult, LabError};
use dyntick_lab::seal::Sealer;
use dyntick_lab::store::{self, Run};
use dyntick_lab::study::{Size, Study};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What may be said to `lab report`.
#[derive(Args)]
pub struct Arguments {
    /// Study file
    study: PathBuf,
    /// The study was run in the size of the published experiment
    #[arg(long)]
    full_size: bool,
    /// Folder of runs and report [default: out/STUDY]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
}

/// Tells what is there. A case that was not run is named in the report.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let size = if arguments.full_size { Size::Full } else { Size::Scaled };
    let study = Study::load_sized(&arguments.study, size)?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("out").join(&study.name));
    let results = kept(&study, &out.join("runs"));
    if results.iter().all(|result| result.run.is_err()) {
        bail!(
            "{} holds no run of this study's cases as they are now: dyntick lab run {}",
            out.display(),
            arguments.study.display()
        );
    }
    Told::of(&study, &results).print(arguments.wanted.format())?;
    Ok(ExitCode::SUCCESS)
}

/// The newest kept run of each case, and all its repetitions.
fn kept(study: &Study, runs: &Path) -> Vec<CaseResult> {
    // Looking at what is there needs no cache.
    let sealer = Cache::of_user().ok().and_then(|cache| Sealer::known(&cache));
    let found = store::newest(runs, &study.cases, sealer.as_ref());
    let result = |case: &dyntick_lab::study::Case, repetition, run| CaseResult {
        case: case.clone(),
        repetition,
        run,
        console_tail: Vec::new(),
    };
    let mut of_cases: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    for run in found {
        of_cases.entry(run.asked.case.id.clone()).or_default().push(run);
    }
    let mut of_case = |case: &dyntick_lab::study::Case| -> Vec<CaseResult> {
        // Moved, not copied: a run may take much of the memory.
        let runs = of_cases.remove(&case.id).unwrap_or_default().into_iter();
        let runs: Vec<CaseResult> = runs.map(|run| result(case, run.asked.repetition, Ok(run))).collect();
        if runs.is_empty() { vec![result(case, 0, Err(LabError::NotRun))] } else { runs }
    };
    study.cases.iter().flat_map(&mut of_case).collect()
}
