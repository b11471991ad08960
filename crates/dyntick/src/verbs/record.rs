// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick record`: what happens on some CPUs, in one file.

use crate::output;
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_check::shell;
use dyntick_model::CpuList;
use dyntick_observe::facts::Machine;
use dyntick_record::{
    Options, Record, RecordError, record_command, record_process, record_until_interrupted,
};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

/// Where a record goes that is given no name.
const DEFAULT: &str = "dyntick.dt";

/// What may be said to `record`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub what: What,
    /// Write the record to FILE
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT)]
    output: PathBuf,
}

/// What is to be recorded.
#[derive(Args)]
pub struct What {
    /// CPUs to record, as 3 or 2-3,8 [default: nohz_full= and isolated CPUs, else all]
    #[arg(short = 'C', long, value_name = "CPULIST")]
    cpus: Option<CpuList>,
    /// Record until process PID ends
    #[arg(short = 'p', long, value_name = "PID", conflicts_with = "command")]
    pid: Option<i32>,
    /// Set the trace buffer of each CPU to KIB KiB; it is emptied ten times a second
    #[arg(long, value_name = "KIB", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(16..=1 << 20))]
    buffer: u32,
    /// Record while this command runs; without one, until Ctrl-C
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Records and keeps it. The status is the command's.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    output::ensure_no_terminal(&arguments.output, "a record")?;
    // A name that nobody typed leads nowhere else, whoever made the folder.
    let unasked = arguments.output == Path::new(DEFAULT);
    if unasked {
        arguments.output.symlink_metadata().map_or(Ok(()), |found| ensure_own_file(&found))?;
    }
    output::ensure_writable(&arguments.output)?;
    let (record, status) = take(&arguments.what)?;
    match unasked {
        true => record.save_unasked(&arguments.output)?,
        false => record.save(&arguments.output)?,
    }
    let (begin, end) = record.about.window_ns;
    output::note(format_args!(
        "recorded CPU {} for {:.3} s: {}; now: dyntick explain {}",
        record.about.cpus,
        (end - begin) as f64 / 1e9,
        arguments.output.display(),
        shell::file(&arguments.output).unwrap_or_else(|_| "FILE".to_owned()),
    ));
    record.about.notes.iter().for_each(output::note);
    Ok(as_own(status))
}

/// Refuses what only somebody else can have put under the default name.
fn ensure_own_file(found: &Metadata) -> Result<()> {
    if found.is_symlink() {
        bail!("{DEFAULT} is a symbolic link here: name the file with -o");
    }
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        bail!("{DEFAULT} is not a regular file of yours: name the file with -o");
    }
    Ok(())
}

/// Records what was asked for; there is a status where a command ran.
pub fn take(what: &What) -> Result<(Record, Option<ExitStatus>)> {
    let cpus = match &what.cpus {
        Some(cpus) if cpus.is_empty() => bail!("-C names no CPU"),
        Some(cpus) => cpus.clone(),
        None => set_aside()?,
    };
    let options = Options { buffer_kib: what.buffer, command: what.command.clone(), ..Options::new(cpus) };
    let taken = match (what.pid, what.command.is_empty()) {
        (Some(pid), _) => record_process(&options, pid).map(|record| (record, None)),
        (None, true) => {
            output::note(format_args!("recording CPU {}; stop with Ctrl-C", options.cpus));
            record_until_interrupted(&options).map(|record| (record, None))
        }
        (None, false) => {
            record_command(&options, &what.command).map(|(record, status)| (record, Some(status)))
        }
    };
    taken.map_err(|error| match error {
        RecordError::Session(error) => anyhow::Error::new(error).context(super::explain::rights()),
        other => other.into(),
    })
}

/// The CPUs that somebody wants to be quiet; all, where there are none.
fn set_aside() -> Result<CpuList> {
    let cpus = Machine::read().context("find out which CPUs to record")?.cpus;
    let aside = cpus.nohz_full.union(&cpus.isolated);
    Ok(if aside.is_empty() { cpus.online } else { aside })
}

/// A command's status as a shell tells it: 128 and the signal's number where one ended it.
pub fn as_own(status: Option<ExitStatus>) -> ExitCode {
    let code = status.map_or(0, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
    ExitCode::from(code as u8)
}
