// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab bench`: where the wall time of a case goes.

use super::{in_words, own_binary};
use crate::output::Target;
use crate::progress::Display;
use anyhow::{Context, Result};
use clap::Args;
use dyntick_contract::lab::Bench;
use dyntick_guest::Stage;
use dyntick_kernels::cache::Cache;
use dyntick_lab::lab::Lab;
use dyntick_study::{Size, shipped};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// The arguments of `dyntick lab bench`.
#[derive(Args)]
pub struct Arguments {
    /// Study: a name of `dyntick lab studies`, or a file
    study: PathBuf,
    /// Run this case [default: the study's first]
    #[arg(long, value_name = "ID")]
    case: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Runs one case anew and prints how long each stage took.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    let study = shipped::find(&arguments.study, Size::Scaled)?;
    let case = match &arguments.case {
        Some(id) => study.case(id).with_context(|| format!("the study has no case '{id}'"))?,
        None => study.cases.first().context("the study has no case")?,
    };
    let display = Display::new();
    let watch = |progress| display.show(progress);
    let lab = Lab::open(Cache::of_user()?, own_binary()?, &watch)?;
    // Kernels and QEMU are fetched once, not with each case.
    lab.prepare(case, 0)?;
    let begin = Instant::now();
    let prepared = lab.prepare(case, 0)?;
    let mut stages = vec![("prepare".to_owned(), begin.elapsed().as_secs_f64())];
    let folder = lab.scratch()?;
    let run = lab.run(&prepared, folder.path()).map_err(in_words)?;
    let total = begin.elapsed().as_secs_f64();
    let names = Stage::ALL.iter().map(Stage::to_string);
    stages.extend(names.filter_map(|name| Some((name.clone(), *run.timing.get(&name)?))));
    let known: f64 = stages.iter().map(|(_, seconds)| seconds).sum();
    stages.push(("decode and store".to_owned(), total - known));
    if arguments.json {
        let stages = stages.into_iter().collect();
        arguments.target.json(&Bench { case: &case.id, seconds: total, stages })?;
    } else {
        let mut text = format!("{} (wall seconds)\n", case.id);
        for (name, seconds) in &stages {
            text += &format!("{seconds:8.2}  {:4.0} %  {name}\n", seconds / total * 100.0);
        }
        arguments.target.text(&format!("{text}{total:8.2}         total\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
