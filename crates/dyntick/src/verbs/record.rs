// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick record`: records the events of some CPUs into one file.

use super::recording::Tool;
use super::recording::{What, as_own, options, take};
use crate::occurrences;
use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_check::shell;
use dyntick_model::units::{Bytes, Nanos, UnitError};
use dyntick_record::{Conditions, Cost, Ended, LastSeconds, Options, Record, RecordError, Trigger};
use dyntick_report::numbers;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The default output file.
const DEFAULT: &str = "dyntick.dt";

/// The arguments of `dyntick record`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dyntick record -C 3 -- ./app      CPU 3 while ./app runs, into dyntick.dt
  dyntick record -C 2-3 -o x.dt     until Ctrl-C
  dyntick record --idle -o x.dt -- ./app
                                    with idle states, for `dyntick replay`
  dyntick record -C 3 --last 10s --when-late 100
                                    until a thread runs 100 µs late; the 10 s
                                    before that are in dyntick.1.dt
  dyntick explain x.dt              what interrupted the CPUs, and why
  dyntick record --print trace-cmd -- ./app
                                    how trace-cmd records that")]
pub struct Arguments {
    #[command(flatten)]
    what: What,
    /// Write the record to FILE
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT)]
    output: PathBuf,
    /// End recording when FILE has SIZE bytes, e.g. 500M or 2G; with --last, discard older events [default there: 1G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// Record idle states too, two events for each sleep, for `dyntick replay`
    #[arg(long)]
    idle: bool,
    #[command(flatten)]
    ring: Ring,
    /// Measure what recording costs here by a second of it, and write nothing; run no command
    #[arg(long, conflicts_with_all = ["max_size", "last"])]
    cost: bool,
    /// Print the command of another tool that records what `explain` reads, for a machine without dyntick, and record
    /// nothing
    #[arg(
        long, value_name = "TOOL", conflicts_with_all = ["max_size", "last", "cost", "cpus", "pid", "stacks"]
    )]
    print: Option<Tool>,
    /// Print the cost as JSON
    #[arg(long, requires = "cost")]
    json: bool,
}

/// The options of the ring buffer (`--last`).
#[derive(Args)]
struct Ring {
    /// Keep only the last TIME, e.g. 30s or 5min; SIGUSR1 takes a snapshot of it: FILE.1, FILE.2, … (x.1.dt for x.dt)
    #[arg(long, value_name = "TIME")]
    last: Option<Nanos>,
    /// Take a snapshot when a thread runs later than USEC µs after its timer was to expire, or after it was woken
    #[arg(long, value_name = "USEC", value_parser = super::stat::over, requires = "last")]
    when_late: Option<u64>,
    /// Take a snapshot when an interruption takes longer than USEC µs
    #[arg(long, value_name = "USEC", value_parser = super::stat::over, requires = "last")]
    when_interrupted: Option<u64>,
    /// Take at most N snapshots for these reasons; then, without a command, recording ends
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_snapshots: u32,
}

/// The default size of a ring on the disk.
const RING_BYTES: u64 = 1 << 30;

/// Records and stores it. The status is the command's, or 2 if the disk was full.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.cost {
        return print_cost(arguments);
    }
    if let Some(tool) = arguments.print {
        return print_command(tool, arguments);
    }
    output::ensure_no_terminal(&arguments.output, "a record")?;
    // The default name is never followed through links, whichever user made the folder.
    let unasked = arguments.output == Path::new(DEFAULT);
    if unasked {
        arguments.output.symlink_metadata().map_or(Ok(()), |found| ensure_own_file(&found))?;
    }
    output::ensure_writable(&arguments.output)?;
    let last = last(&arguments.ring, &arguments.output)?;
    let most_bytes = arguments.max_size.unwrap_or(if last.is_some() { RING_BYTES } else { u64::MAX });
    let options = options(&arguments.what, false)?;
    // The ends of page faults would fill a ring twice as fast.
    let faults = options.faults && last.is_none();
    let idle = arguments.idle;
    let options = Options { most_bytes, folder: folder(&arguments.output), last, faults, idle, ..options };
    let (record, status) = take(&arguments.what, &options)?;
    if unasked {
        record.save_unasked(&arguments.output)?
    } else {
        record.save(&arguments.output)?
    }
    let (begin, end) = record.about.window_ns;
    if arguments.what.runs_a_command() {
        // The last line of its output may have no end.
        output::aside("\n");
    }
    output::note(format_args!(
        "recorded {} for {:.3} s, {} events: {}; now: dyntick explain {}",
        occurrences::cpus(&record.about.cpus),
        (end - begin) as f64 / 1e9,
        record.trace.count().unwrap_or_default(),
        arguments.output.display(),
        shell::file(&arguments.output).unwrap_or_else(|_| "FILE".to_owned()),
    ));
    record.about.remarks().for_each(output::note);
    match record.about.ended {
        Some(Ended::DiskFull) => Ok(ExitCode::from(2)),
        Some(Ended::MaxSize) | None => Ok(as_own(status)),
    }
}

/// Prints the command of another tool.
fn print_command(tool: Tool, arguments: &Arguments) -> Result<ExitCode> {
    let file = (arguments.output != Path::new(DEFAULT)).then_some(arguments.output.as_path());
    let command = arguments.what.command_of(tool, file, arguments.idle)?;
    output::rendered(format!("{command}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The length of the recording that shows the cost.
const COST_TIME: Duration = Duration::from_secs(1);

/// Prints what a recording costs.
fn print_cost(arguments: &Arguments) -> Result<ExitCode> {
    let options = Options { idle: arguments.idle, ..options(&arguments.what, false)? };
    let cost = dyntick_record::cost(&options, COST_TIME)?;
    if arguments.json {
        output::json(&cost)?;
    } else {
        output::rendered(cost_in_words(&cost))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn cost_in_words(cost: &Cost) -> String {
    let cpus = cost.cpus.len().max(1) as u64;
    let of_cpu = |calls: u64| numbers::counted(calls / cpus, "function-call interrupt");
    let per_second = |number: u64| number as f64 / cost.seconds;
    format!(
        "Recording {} switches {} trace events on and off again: {} of each CPU before it and {} after it.\n\
         Meanwhile it recorded {} events/s, {:.1} MB/s on disk, and took {} of another CPU.\n",
        occurrences::cpus(&cost.cpus),
        cost.switched,
        of_cpu(cost.calls_on),
        of_cpu(cost.calls_off),
        numbers::rate(per_second(cost.events)),
        per_second(cost.bytes) / 1e6,
        numbers::percent(cost.dyntick_ns as f64 / 1e9 / cost.seconds),
    )
}

/// The ring's options, and the conditions for its snapshots.
fn last(ring: &Ring, output: &Path) -> Result<Option<LastSeconds>> {
    let Some(Nanos(last)) = ring.last else { return Ok(None) };
    if last == 0 {
        bail!("--last 0 keeps nothing: name a time, e.g. 30s");
    }
    if dyntick_system::is_standard_output(output) || output.metadata().is_ok_and(|found| !found.is_file()) {
        bail!(
            "--last needs a regular file with -o, after which its snapshots are named; {} is not one",
            output.display()
        );
    }
    Ok(Some(LastSeconds {
        last: Duration::from_nanos(last),
        when: Conditions { late_ns: ring.when_late, interrupted_ns: ring.when_interrupted },
        most_snapshots: ring.max_snapshots,
        file: output.to_owned(),
        taken,
    }))
}

/// Reports a snapshot.
fn taken(path: &Path, record: &Result<Record, RecordError>) {
    match record {
        Ok(record) => {
            let why = record.about.trigger.as_ref().map(Trigger::to_string).unwrap_or_default();
            output::note(format_args!("snapshot {}: {why}", path.display()));
        }
        Err(error) => output::note(format_args!("no snapshot {}: {error}", path.display())),
    }
}

/// The folder for the temporary file of a record: its own folder, if it is a file.
fn folder(path: &Path) -> PathBuf {
    let is_file = path.metadata().map_or(path != Path::new("-"), |found| found.is_file());
    let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if is_file { parent.to_owned() } else { std::env::temp_dir() }
}

/// Parses a number of bytes, with the suffix K, M, G or T for powers of 1024.
pub(super) fn size(text: &str) -> Result<u64, String> {
    text.parse()
        .or_else(|_| text.parse().map(|Bytes(bytes)| bytes))
        .map_err(|error: UnitError| error.to_string())
}

/// Refuses an object under the default name that only another user can have made.
fn ensure_own_file(found: &Metadata) -> Result<()> {
    if found.is_symlink() {
        bail!("{DEFAULT} is a symbolic link here: name the file with -o");
    }
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        bail!("{DEFAULT} is not your own regular file: name the file with -o");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_suffixes() {
        assert_eq!(
            ["12", "3K", "500M", "2GiB"].map(|text| size(text).unwrap()),
            [12, 3 << 10, 500 << 20, 2 << 30]
        );
        for text in ["M", "2X", "-1", "99999999T"] {
            assert_eq!(size(text).unwrap_err(), format!("'{text}' is not a size such as 512M or 2G"));
        }
    }
}
