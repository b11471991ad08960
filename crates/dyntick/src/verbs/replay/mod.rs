// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick replay`: idle governors out of kernel trees, run on the idle periods of records.

mod differences;
mod grounds;
mod lacking;
mod page;
mod rows;
mod study;

use crate::output::{self, Target};
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_contract::replay::Replay;
use dyntick_kernels::cache::Cache;
use dyntick_model::Machine;
use dyntick_model::units::Nanos;
use dyntick_replay::{Decision, Governor, Spec, sweep};
use dyntick_report::{Plot, mail, plot_svg};
use dyntick_study::machine;
use grounds::Grounds;
use rows::{Choices, How, MOST_WITH_BOUNDS, Programs, Row};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// The arguments of `dyntick replay`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dyntick record --idle -C 3 -o x.dt -- ./load
  dyntick replay x.dt --governor menu@6.12 --governor teo@7.2
                                    two governors of Debian's kernels
  dyntick replay x.dt --governor ./linux/drivers/cpuidle/governors/menu.c
                                    the file of a tree, as it is there
  dyntick replay x.dt --governor menu@6.12+mine.cocci --machine sapphire-rapids
                                    with a patch, and modelled energy
  dyntick replay *.dt --sweep \"mine.c -DMARGIN=0..100:5\" --qos none,20us")]
pub struct Arguments {
    /// Records of `dyntick record --idle`, or a trace.dat, a perf.data or a text with power:cpu_idle
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A governor: NAME@VERSION of Debian's kernels (menu@6.12, teo@7.2, ladder@sid) or a C file, then +PATCH for each
    /// patch
    #[arg(long = "governor", value_name = "SPEC", required_unless_present = "sweep")]
    governors: Vec<String>,
    /// All values of macros in a governor, as one argument: 'SPEC -DNAME=FIRST..LAST:STEP'
    #[arg(long, value_name = "SPEC -D…")]
    sweep: Vec<String>,
    /// The machine whose idle states and powers are used: see `dyntick lab machines`, or a path; several, or all, make
    /// one table of each record on each machine [default: the recorded states, without energy]
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',')]
    machine: Vec<String>,
    /// Latency limits (PM QoS) to replay with, in addition to the recorded ones: none, or a time such as 20us
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "none")]
    qos: Vec<Limit>,
    /// Delay what follows a choice by what its state takes longer to leave than the recorded one; without energy
    #[arg(long)]
    feedback: bool,
    /// Draw latency against energy as SVG: a point for each governor, a line for a sweep
    #[arg(long, value_name = "FILE", requires = "machine", conflicts_with = "feedback")]
    picture: Option<PathBuf>,
    /// A header for names that the stand-in for the kernel lacks
    #[arg(long, value_name = "HEADER")]
    stand_in: Option<PathBuf>,
    /// List the first N decisions in which a governor differs from the first one
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// A latency limit, ns; `None` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit(Option<u64>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        let limit = text.parse().map(|Nanos(ns)| Self(Some(ns)));
        limit.map_err(|_| format!("'{text}' is no latency limit: write none, or a time such as 20us"))
    }
}

impl Limit {
    /// The limit as the kernel has it, ns.
    fn ns(self) -> i64 {
        self.0.map_or(Decision::NO_LIMIT, |ns| ns.min(Decision::NO_LIMIT as u64) as i64)
    }
}

/// Replays the governors on the records.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    arguments.picture.as_deref().map_or(Ok(()), output::ensure_writable)?;
    dyntick_system::leave_half_of_memory();
    let machines = machines(&arguments.machine)?;
    let governors = governors(arguments)?;
    if machines.len() > 1 {
        return on_machines(arguments, &machines, &governors);
    }
    let bounds = governors.len() <= MOST_WITH_BOUNDS;
    let Some(grounds) = Grounds::open(&arguments.files, &machines, bounds)?.pop() else {
        bail!("no machine");
    };
    let replay = replay(&grounds, &governors, &Programs::new()?, arguments)?;
    draw(arguments, page::picture(&replay))?;
    if arguments.json {
        arguments.target.json(&replay)?;
    } else {
        arguments.target.page(&page::document(&replay))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The machines by their names; one that is none for the recorded states.
fn machines(names: &[String]) -> Result<Vec<Option<Machine>>> {
    let find = |name: &str| -> Result<Option<Machine>> { Ok(Some(machine::find(name)?)) };
    match names {
        [] => Ok(vec![None]),
        [all] if all == "all" => machine::names().into_iter().map(find).collect(),
        names => names.iter().map(|name| find(name)).collect(),
    }
}

fn draw(arguments: &Arguments, plot: Option<Plot>) -> Result<()> {
    match (&arguments.picture, plot) {
        (Some(path), Some(plot)) => output::file(path, plot_svg(&plot).as_bytes()),
        _ => Ok(()),
    }
}

/// Replays each record by itself on each machine.
fn on_machines(
    arguments: &Arguments,
    machines: &[Option<Machine>],
    governors: &[Governor],
) -> Result<ExitCode> {
    let programs = Programs::new()?;
    let mut replays = Vec::new();
    for file in &arguments.files {
        for grounds in Grounds::open(std::slice::from_ref(file), machines, false)? {
            replays.push(replay(&grounds, governors, &programs, arguments)?);
        }
    }
    draw(arguments, study::picture(&replays))?;
    if arguments.json {
        let lines = replays.iter().map(output::as_json_line).collect::<Result<Vec<String>>>()?;
        arguments.target.rendered(&lines.concat())?;
    } else {
        arguments.target.rendered(&mail(&study::document(&replays)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn replay(
    grounds: &Grounds,
    governors: &[Governor],
    programs: &Programs,
    arguments: &Arguments,
) -> Result<Replay> {
    let how = How { limits: &arguments.qos, feedback: arguments.feedback, first: arguments.first };
    let choices = Choices::of(grounds, governors, programs, &how)?;
    let differences = choices.differences();
    let rows = choices.rows(grounds)?;
    Ok(Replay {
        files: grounds.records.iter().map(|record| record.file.clone()).collect(),
        recorded_governor: grounds.governor.clone(),
        feedback: arguments.feedback,
        machine: grounds.machine.as_ref().map(|machine| machine.name.clone()),
        states: grounds.states(),
        results: rows.into_iter().map(Row::printed).collect(),
        differences,
        assumed: grounds.assumed(),
        notes: grounds.notes.clone(),
    })
}

/// The governors with their sources: those of `--governor`, then all variants of `--sweep`.
fn governors(arguments: &Arguments) -> Result<Vec<Governor>> {
    let cache = Cache::of_user()?;
    let load = |spec: &Spec| -> Result<Governor> {
        let progress = |text: &str| output::step(format_args!("{}: {text}", spec.text));
        Ok(spec.load(&cache, &progress)?.with_stand_in(arguments.stand_in.as_deref())?)
    };
    let mut all: Vec<Governor> = Vec::new();
    for text in &arguments.governors {
        all.push(load(&text.parse()?)?);
    }
    for text in &arguments.sweep {
        let (spec, variants) = sweep(text).context("cannot read --sweep")?;
        let governor = load(&spec)?;
        all.extend(variants.iter().map(|defines| governor.with(defines)));
    }
    if all.is_empty() {
        bail!("no governor: name one with --governor");
    }
    Ok(all)
}
