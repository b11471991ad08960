// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab plan`: the cases of a study and what each needs, without running anything.

use super::changes::{Changes, Chosen};
use super::studies::{case_line, tool};
use crate::output;
use anyhow::Result;
use clap::Args;
use dyntick_contract::lab::{Planned, PlannedCase};
use dyntick_lab::expected::estimated;
use dyntick_lab::lab::needed_tools;
use dyntick_study::Case;
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `dyntick lab plan`.
#[derive(Args)]
pub struct Arguments {
    /// Study: a name of `dyntick lab studies`, or a file
    study: PathBuf,
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    changes: Changes,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the cases.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let study = arguments.changes.study(&arguments.study, &arguments.chosen)?;
    if arguments.json {
        let cases = study.cases.iter().map(planned).collect();
        let kernels = study.kernels.into_keys().collect();
        output::json(&Planned { study: study.name, cases, kernels })?;
    } else {
        study.cases.iter().try_for_each(|case| output::line(case_line(case)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn planned(case: &Case) -> PlannedCase {
    PlannedCase {
        id: case.id.clone(),
        runs: case.runs(),
        clock: case.clock,
        cpus: case.cpus,
        memory: case.memory,
        kernel: case.kernel.clone(),
        builds: case.recipe.is_some(),
        tools: needed_tools(std::slice::from_ref(case)).into_keys().map(tool).collect(),
        estimated_s: estimated(case).as_secs(),
    }
}
