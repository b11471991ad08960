// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab …`

mod report;
mod run;

use anyhow::{Context, Result};
use clap::Subcommand;
use std::path::PathBuf;
use std::process::ExitCode;

/// The laboratory's verbs.
#[derive(Subcommand)]
pub enum LabVerb {
    /// Run a study: its cases, its claims, its report
    Run(run::Arguments),
}

impl LabVerb {
    /// Does what was asked.
    pub fn run(self) -> Result<ExitCode> {
        match self {
            LabVerb::Run(arguments) => run::run(arguments),
        }
    }
}

/// This program's own binary, which is also the guest's `/init`.
fn own_binary() -> Result<PathBuf> {
    std::env::current_exe().context("find this program's own file, which the guests start as /init")
}
