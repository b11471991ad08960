// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick check`: is the machine set up for what its command line asks?

mod text;

use crate::json;
use crate::output;
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use dyntick_check::{Machine, Report, Severity, Snapshot};
use dyntick_model::CpuList;
use dyntick_observe::snapshot::{self, bundle};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What may be said to `check`.
#[derive(Args)]
pub struct Arguments {
    /// Check these CPUs, isolated or not, as 2-3,8 [default: all isolated CPUs]
    #[arg(short = 'C', long, value_name = "CPUS")]
    cpus: Option<CpuList>,
    /// Print each finding in full, even if it does not fit on the screen
    #[arg(short, long)]
    verbose: bool,
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

/// Checks the machine. The status is 1 where a finding is severe enough.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(path) = &arguments.bundle {
        output::ensure_no_terminal(path, "a bundle")?;
        output::ensure_writable(path)?;
    }
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
    let machine = Machine::new(&files, arguments.cpus.as_ref())
        .with_context(|| format!("check {}", subject(arguments.from.as_deref())))?;
    let report = Report::of(&machine, &files);
    print(arguments, &report)?;
    Ok(ExitCode::from(u8::from(arguments.fail_on.fails(report.worst()))))
}

fn subject(from: Option<&Path>) -> String {
    from.map_or("this machine".to_owned(), |path| path.display().to_string())
}

/// The files of this machine, of a folder that stands for its root, or of a bundle.
fn read(from: Option<&Path>) -> Result<Snapshot> {
    match from {
        None => Ok(snapshot::read(Path::new("/"))?),
        Some(path) if path.is_dir() => Ok(snapshot::read(path)?),
        Some(path) => Ok(bundle::read(path)?),
    }
}

fn print(arguments: &Arguments, report: &Report) -> Result<()> {
    match (arguments.json, arguments.format) {
        (true, Format::Sarif | Format::Script) => bail!("--json is --format json: omit one of the two"),
        (true, _) | (_, Format::Json) => output::json(&json::CHECK.of(report)),
        (_, Format::Sarif) => output::json(&dyntick_formats::sarif(report)),
        (_, Format::Script) => output::text(dyntick_check::script(report)),
        (_, Format::Text) => output::rendered(text::render(report, &page(arguments.verbose))),
    }
}

/// The terminal; what is piped or stored is plain, and as long as it is.
fn page(verbose: bool) -> text::Page {
    let size = output::size();
    text::Page {
        width: size.map_or(100, |(columns, _)| columns.clamp(40, 100)),
        height: size.map(|(_, rows)| rows).filter(|rows| *rows > 0),
        colour: output::is_terminal(),
        verbose,
    }
}
