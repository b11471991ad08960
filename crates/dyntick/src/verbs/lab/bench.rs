// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab bench`: where the wall time of a case goes.

use super::{in_words, own_binary};
use crate::json;
use crate::output;
use anyhow::{Context, Result};
use clap::Args;
use dyntick_guest::Stage;
use dyntick_kernels::cache::Cache;
use dyntick_lab::lab::Lab;
use dyntick_study::Study;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// What may be said to `lab bench`.
#[derive(Args)]
pub struct Arguments {
    /// Study file
    study: PathBuf,
    /// Run this case [default: the study's first]
    #[arg(long, value_name = "ID")]
    case: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs one case anew and tells how long each stage took.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let study = Study::load(&arguments.study)?;
    let case = match &arguments.case {
        Some(id) => study.case(id).with_context(|| format!("the study has no case '{id}'"))?,
        None => study.cases.first().context("the study has no case")?,
    };
    let lab = Lab::open(Cache::of_user()?, own_binary()?, &|_| ())?;
    // Kernels and QEMU are fetched once, not with each case.
    lab.prepare(case, 0)?;
    let begin = Instant::now();
    let prepared = lab.prepare(case, 0)?;
    let mut stages = vec![("prepare".to_owned(), begin.elapsed().as_secs_f64())];
    let folder = lab.scratch()?;
    let run = lab.run(&prepared, folder.path()).map_err(|(error, _)| in_words(error))?;
    let total = begin.elapsed().as_secs_f64();
    let names = Stage::ALL.iter().map(|stage| format!("{stage:?}").to_lowercase());
    stages.extend(names.filter_map(|name| Some((name.clone(), *run.timing.get(&name)?))));
    let told: f64 = stages.iter().map(|(_, seconds)| seconds).sum();
    stages.push(("decode and store".to_owned(), total - told));
    if arguments.json {
        let stages: serde_json::Map<_, _> = stages.into_iter().map(|(name, s)| (name, s.into())).collect();
        let found = serde_json::json!({ "case": case.id, "seconds": total, "stages": stages });
        output::json(&json::LAB_BENCH.of(&found))?;
    } else {
        output::line(format_args!("{} (wall seconds)", case.id))?;
        for (name, seconds) in &stages {
            output::line(format_args!("{seconds:8.2}  {:4.0} %  {name}", seconds / total * 100.0))?;
        }
        output::line(format_args!("{total:8.2}         total"))?;
    }
    Ok(ExitCode::SUCCESS)
}
