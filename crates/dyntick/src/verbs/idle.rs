// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick idle`: whether idle CPUs choose the right states, by the kernel's own counters, and what wrong ones cost.

mod interval;
mod page;
mod traced;

use super::compare;
use crate::measuring;
use crate::output::{self, Target};
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_contract::idle::Idle;
use dyntick_count::{End, Watch, start};
use dyntick_formats::{idle_counters, turbostat};
use dyntick_idle::usage::usage;
use dyntick_model::units::Nanos;
use dyntick_model::{CpuList, IdleSnapshot};
use dyntick_observe::live::keep_off;
use dyntick_observe::{cpuidle, latency_limit};
use dyntick_study::machine;
use dyntick_system::read_named;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The arguments of `dyntick idle`.
#[derive(Args)]
#[command(after_help = "\
A file is a dump of the states' files in sysfs (grep . /sys/devices/system/cpu/cpu*/cpuidle/state*/*), or the output of \
`cpupower idle-info`: of one the counters since the boot are read, of two the difference. Outputs of turbostat have means of \
intervals; two of them, or two folders of such files, are compared as by `dyntick compare`. Of a record of `dyntick record \
--idle`, and of a trace of another tool with power:cpu_idle, also what woke the CPUs is shown. Needs no privilege.

Examples:
  dyntick idle                      all CPUs of this machine, for 10 s
  dyntick idle -C 2-3 -- ./load     CPUs 2 and 3 while ./load runs
  dyntick idle before.txt after.txt
                                    two dumps of one boot
  dyntick idle x.dt                 each sleep of a record: what ended it")]
pub struct Arguments {
    /// A record or a trace, an output of turbostat, or dumps of the counters: one, or two of one boot, the earlier
    /// first [default: measure this machine]
    #[arg(value_name = "FILE", num_args = 0..=2, conflicts_with_all = ["time", "command"])]
    files: Vec<PathBuf>,
    /// CPUs to judge, e.g. 1-3,8 [default: all]
    #[arg(short = 'C', long = "cpu", visible_alias = "cpus", value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Measure for TIME, e.g. 30s or 5min [default: 10s, or until the command ends]
    #[arg(short, long, value_name = "TIME")]
    time: Option<Nanos>,
    /// Judge the sleeps of a trace without idle states by those of a machine: see `dyntick lab machines`, or a path
    #[arg(long, value_name = "NAME", requires = "files")]
    machine: Option<String>,
    /// Print all states of each CPU, not their sums
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
    /// Command to run meanwhile
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The length of a measurement without a command.
const TIME: Duration = Duration::from_secs(10);

/// The largest dump, bytes: 10 states of 8192 CPUs have 12 files of some 80 bytes each.
const LARGEST: u64 = 256 << 20;

/// Reads, judges and prints; the status is the command's.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    if are_compared(&arguments.files) {
        return compare(arguments);
    }
    let (found, status) = match arguments.files.as_slice() {
        [] => measured(arguments)?,
        _ => (of_files(arguments)?, 0),
    };
    let runs_a_command = !arguments.command.is_empty();
    if arguments.json {
        arguments.target.json_beside(runs_a_command, &found)?;
    } else if runs_a_command && !arguments.target.is_named() {
        output::rendered_aside(format!(
            "\n{}",
            output::Sheet::aside().text(&page::document(&found, arguments.full))
        ))?;
    } else {
        arguments.target.page(&page::document(&found, arguments.full))?;
    }
    Ok(ExitCode::from(status))
}

/// Measures this machine. Returns the status of the command too.
fn measured(arguments: &Arguments) -> Result<(Idle, u8)> {
    let cpus = measuring::cpus(arguments.cpus.as_ref())?;
    let watch = Watch::with_signals()?;
    let place = keep_off(&cpus).context("cannot leave the measured CPUs")?;
    let (first, begin) = (snapshot(&cpus), Instant::now());
    let until = match (arguments.time, arguments.command.is_empty()) {
        (Some(Nanos(time)), _) => Some(begin + Duration::from_nanos(time)),
        (None, true) => Some(begin + TIME),
        (None, false) => None,
    };
    if !arguments.command.is_empty() {
        watch.command(start(&arguments.command, &place, None)?)?;
    }
    let end = watch.wait(until);
    let (last, seconds) = (snapshot(&cpus), begin.elapsed().as_secs_f64());
    let status = match end {
        Some(End::Command(finished)) => finished.code(),
        // The command got the signal too, as all of its group.
        Some(End::Signal(signal)) if !arguments.command.is_empty() => 128 + signal as u8,
        _ => 0,
    };
    let used = usage(Some(&first), &last).context("cannot take the difference of two readings")?;
    let of_all = |name: &str| {
        let text = std::fs::read_to_string(Path::new("/sys/devices/system/cpu/cpuidle").join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    let idle = Idle {
        seconds: Some(seconds),
        driver: of_all("current_driver"),
        governor: of_all("current_governor").or_else(|| of_all("current_governor_ro")),
        limits: latency_limit::read(&cpus).ok(),
        ..Idle::of_counters(Vec::new(), used)
    };
    Ok((idle, status))
}

fn snapshot(cpus: &CpuList) -> IdleSnapshot {
    let states = cpuidle::read(cpus).into_iter().flat_map(|(cpu, states)| {
        let numbered = states.into_iter().enumerate();
        numbered.map(move |(number, state)| ((cpu, number as u32), (&state).into())).collect::<Vec<_>>()
    });
    states.collect()
}

/// Returns true for two files of which each is of its own time, as two outputs of turbostat or folders of several runs:
/// they have no difference, and are compared.
fn are_compared(files: &[PathBuf]) -> bool {
    let is_period = |file: &PathBuf| {
        let is_output = || read_named(file, LARGEST).is_ok_and(|text| turbostat::knows(&text));
        file.is_dir() || file.is_file() && is_output()
    };
    files.len() == 2 && files.iter().all(is_period)
}

/// Compares two outputs of turbostat, or folders of dumps and outputs, by the rules of `dyntick compare`.
fn compare(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.cpus.is_some() {
        bail!(
            "cannot compare some CPUs of these files: name their metrics in `dyntick compare --metric cpu1/`"
        );
    }
    let target = arguments.target.clone();
    let of = compare::Arguments::of_runs(
        Vec::new(),
        compare::Direction::Unknown,
        arguments.json,
        arguments.full,
        target,
    );
    let sides = arguments.files.iter().map(|file| file.display().to_string()).collect();
    compare::run(&of.with_sides(sides))
}

fn of_files(arguments: &Arguments) -> Result<Idle> {
    let (files, cpus) = (arguments.files.as_slice(), arguments.cpus.as_ref());
    if let [file] = files {
        if let Some(record) = traced::open(file)? {
            let machine = arguments.machine.as_deref().map(machine::find).transpose()?;
            return traced::idle(file, record, cpus, machine.as_ref());
        }
    }
    if arguments.machine.is_some() {
        bail!("cannot use --machine: it has the idle states for a trace without them, and no trace is given");
    }
    let mut snapshots: Vec<IdleSnapshot> = Vec::new();
    for file in files {
        let text = read_named(file, LARGEST)?;
        if turbostat::knows(&text) {
            if files.len() > 1 {
                bail!(
                    "cannot take a difference with {}: an output of turbostat is of an interval; give it alone, or two \
                     such outputs",
                    file.display()
                );
            }
            let idle = interval::idle(&text, files.to_vec(), cpus);
            return idle.with_context(|| format!("cannot read {}", file.display()));
        }
        let read = idle_counters::parse(&text).with_context(|| format!("cannot read {}", file.display()))?;
        snapshots.extend(read);
    }
    for snapshot in &mut snapshots {
        snapshot.retain(|(cpu, _), _| cpus.is_none_or(|cpus| cpus.contains(*cpu)));
    }
    let (Some(first), Some(last)) = (snapshots.first(), snapshots.last()) else { bail!("no dump was read") };
    if last.is_empty() {
        bail!("cannot judge these CPUs: the dump has none of them");
    }
    let since_boot = snapshots.len() == 1;
    let used = usage((!since_boot).then_some(first), last).map_err(|backwards| match files {
        [before, after] => anyhow::anyhow!(
            "cannot take the difference of {0} and {1}: {backwards}; dumps of two boots are compared by \
             `dyntick compare {0} {1}`",
            before.display(),
            after.display()
        ),
        _ => anyhow::anyhow!("cannot take the difference of the dumps in one file: {backwards}"),
    })?;
    Ok(Idle { since_boot, ..Idle::of_counters(files.to_vec(), used) })
}
