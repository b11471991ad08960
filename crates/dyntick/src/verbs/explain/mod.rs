// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick explain`: what interrupted the CPUs of a record, why, and what fixes it.

mod report;

use super::record::{What, take};
use crate::json;
use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_observe::trace::DecodeError;
use dyntick_record::Record;
use std::path::PathBuf;
use std::process::ExitCode;

/// What may be said to `explain`.
#[derive(Args)]
pub struct Arguments {
    /// File of `dyntick record`; without it, record first, as `record` does
    #[arg(value_name = "FILE", conflicts_with_all = ["cpus", "pid", "command"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    what: What,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Print every cause in full, not only the first few
    #[arg(short, long)]
    verbose: bool,
    /// Also write the findings with a timeline to FILE, as HTML
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Explains. The status is 0, or that of the command which was recorded.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(path) = &arguments.html {
        output::ensure_writable(path)?;
    }
    let (record, status) = match &arguments.file {
        Some(file) => {
            dyntick_system::leave_half_of_memory();
            (Record::open(file)?, None)
        }
        None => take(&arguments.what)?,
    };
    let explained = match record.explain() {
        Ok(explained) => explained,
        Err(error @ DecodeError::TooMany { .. }) => match &arguments.file {
            Some(file) => bail!("{} cannot be explained here: {error}", file.display()),
            None => bail!("the trace cannot be explained here: {error}"),
        },
        Err(error) => match &arguments.file {
            Some(file) => bail!("{} is damaged: {error}", file.display()),
            None => bail!("the trace cannot be read: {error}"),
        },
    };
    let findings = explained.findings(&record);
    if let Some(path) = &arguments.html {
        let document = report::document(&findings, &record, &explained, true);
        output::file(path, dyntick_report::html(&document).as_bytes())?;
    }
    match arguments.json {
        true => output::json(&json::EXPLAIN.of(&findings))?,
        false => {
            let document = report::document(&findings, &record, &explained, arguments.verbose);
            output::rendered(dyntick_report::terminal(&document, output::columns(), output::is_terminal()))?;
        }
    }
    Ok(super::record::as_own(status))
}

/// What recording needs.
pub fn rights() -> &'static str {
    "recording needs root, or CAP_SYS_ADMIN to mount tracefs and rights to /sys/kernel/tracing; \
     `dyntick explain FILE` needs neither"
}
