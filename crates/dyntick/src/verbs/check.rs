// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick check`: checks that the machine is set up for what its command line asks.

mod text;

use crate::output::{self, Sheet, Target};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use dyntick_check::{Machine, Report, Severity, Snapshot};
use dyntick_model::CpuList;
use dyntick_snapshot::{self as snapshot, bundle};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use text::Detail;

/// The arguments of `dyntick check`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dyntick check                     the isolated CPUs of this machine
  dyntick check -C 2-3              CPUs 2 and 3, isolated or not
  dyntick check --format script     the fixes, as a shell script to read
  dyntick check --bundle x.tar.gz   keep the files, for --from x.tar.gz")]
pub struct Arguments {
    /// Check these CPUs, isolated or not, e.g. 2-3,8 [default: all isolated CPUs]
    #[arg(short = 'C', long, visible_alias = "cpu", value_name = "CPUS")]
    cpus: Option<CpuList>,
    /// Print each finding with its effect, evidence, all fixes and source, even if that is more than a screen
    #[arg(long, short_alias = 'v', alias = "verbose")]
    full: bool,
    /// Print in this format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print JSON, the same as --format json
    #[arg(long)]
    json: bool,
    /// Exit with status 1 if a finding is at least this severe
    #[arg(long, value_enum, default_value_t = FailOn::Warning)]
    fail_on: FailOn,
    /// Write the files that were read to FILE, to be checked elsewhere with --from
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Check a support bundle, or a folder of a machine's files, instead of this machine
    #[arg(long, value_name = "DUMP", conflicts_with = "bundle")]
    from: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text: as much of each finding as fits on the screen
    Text,
    /// Findings as JSON
    Json,
    /// SARIF 2.1.0, for code hosts and CI
    Sarif,
    /// The fixes, as a shell script
    Script,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Note,
    Warning,
    Error,
    Never,
}

impl FailOn {
    fn fails(self, worst: Option<Severity>) -> bool {
        let at_least = match self {
            FailOn::Note => Severity::Note,
            FailOn::Warning => Severity::Warning,
            FailOn::Error => Severity::Error,
            FailOn::Never => return false,
        };
        worst >= Some(at_least)
    }
}

/// Checks the machine. The status is 1 if a finding is severe enough.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(path) = &arguments.bundle {
        output::ensure_no_terminal(path, "a bundle")?;
        output::ensure_writable(path)?;
    }
    arguments.target.ensure_writable()?;
    dyntick_system::leave_half_of_memory();
    let files = read(arguments.from.as_deref())?;
    if let Some(path) = &arguments.bundle {
        let length = bundle::write(&files, path)?;
        let read = files.iter().count() - files.unread().count();
        output::note(format_args!(
            "wrote {}: {read} files, {} KiB; 'tar tzf' lists them",
            path.display(),
            length.div_ceil(1024)
        ));
    }
    let machine = Machine::new(&files, arguments.cpus.as_ref()).map_err(|error| match &arguments.from {
        // Errors of this machine name their file themselves.
        None => anyhow::Error::new(error),
        Some(path) => anyhow::Error::new(error).context(path.display().to_string()),
    })?;
    let report = Report::of(&machine, &files);
    print(arguments, &report)?;
    Ok(ExitCode::from(u8::from(arguments.fail_on.fails(report.worst()))))
}

/// Reads the files of this machine, of a folder that replaces its root, or of a bundle.
fn read(from: Option<&Path>) -> Result<Snapshot> {
    match from {
        None => Ok(snapshot::read(Path::new("/"))?),
        Some(path) if path.is_dir() => Ok(snapshot::read(path)?),
        Some(path) => Ok(bundle::read(path)?),
    }
}

fn print(arguments: &Arguments, report: &Report) -> Result<()> {
    let target = &arguments.target;
    match (arguments.json, arguments.format) {
        (true, Format::Sarif | Format::Script) => bail!("--json is --format json: omit one of the two"),
        (true, _) | (_, Format::Json) => target.json(report),
        (_, Format::Sarif) => target.unnamed_json(&dyntick_check::sarif(report)),
        (_, Format::Script) => target.text(&dyntick_check::script(report)),
        (_, Format::Text) if arguments.full => target.page(&text::document(report, Detail::Everything)),
        (_, Format::Text) => target.rendered(&fitting(report, target.sheet(), target.height())),
    }
}

/// The number of lines of a page where there is no terminal.
const PAGE: usize = 40;

/// The findings with their fixes if they fit into `height` lines, else alone.
fn fitting(report: &Report, sheet: Sheet, height: Option<usize>) -> String {
    let at = |detail| sheet.text(&text::document(report, detail));
    let text = at(Detail::Fix);
    if text.lines().count() < height.unwrap_or(PAGE) { text } else { at(Detail::Line) }
}

#[cfg(test)]
mod tests;
