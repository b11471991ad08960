// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick isolate --compare`: the command as it is and isolated, in turn, and the difference.

use super::{Arguments, given_up};
use crate::output;
use crate::verbs::compare;
use anyhow::{Context, Result, bail};
use dyntick_contract::stat;
use dyntick_count::{Measured, Session};
use dyntick_explain::LONGEST_IDLE_EXIT_NS;
use dyntick_isolate::{Facts, Isolation, Live, Placement, Request, Running};
use dyntick_lab::sides::{self, KnownSide, SideError};
use dyntick_model::Clock;
use dyntick_observe::live::{self, Choice, Kind};
use dyntick_record::{Ledger, PREEMPTED, Part};
use dyntick_stats::compare::fewest_runs;
use dyntick_stats::{Better, Metric, MetricName, Values};
use std::fs::File;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::time::Instant;

/// A figure that dyntick measures itself.
struct Own {
    name: &'static str,
    unit: &'static str,
    /// Reads it; `None` if it was not counted.
    of: fn(&Run) -> Option<f64>,
}

/// The figures, each better if it is lower.
const OWN: [Own; 5] = [
    Own { name: "command/time", unit: "ns", of: |run| Some(run.measured.ns as f64) },
    Own { name: "command/lost", unit: "%", of: |run| Some(run.ledger.as_ref()?.lost_share * 100.0) },
    Own { name: "command/waited for others", unit: "ns", of: |run| Some(run.waits()?.0 as f64) },
    Own { name: "command/longest wait for others", unit: "ns", of: |run| Some(run.waits()?.1 as f64) },
    Own { name: "CPUs/interruptions", unit: "1/s", of: |run| run.interruptions },
];

/// One run.
struct Run {
    measured: Measured,
    ledger: Option<Ledger>,
    /// Interruptions of the isolated CPUs per second, also those of other tasks.
    interruptions: Option<f64>,
}

impl Run {
    /// The time in which tasks of others had the CPU that the command wanted, and the longest piece of it.
    fn waits(&self) -> Option<(u64, u64)> {
        let of_others = |part: &&Part| part.part == PREEMPTED && !part.own;
        let parts: Vec<&Part> = self.ledger.as_ref()?.parts.iter().filter(of_others).collect();
        let longest = parts.iter().filter_map(|part| part.longest_ns).max();
        Some((parts.iter().filter_map(|part| part.ns).sum(), longest.unwrap_or(0)))
    }
}

/// A side, with the name of its folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    AsItIs,
    Isolated,
}

impl Side {
    fn label(self) -> &'static str {
        match self {
            Side::AsItIs => "as it is",
            Side::Isolated => "isolated",
        }
    }
}

/// Runs the command `pairs` times on each side, in turn, and compares.
pub fn run(arguments: &Arguments, request: &Request, pairs: u32) -> Result<ExitCode> {
    let target = arguments.target.clone();
    let (patterns, better) = (arguments.metric.clone(), arguments.better);
    let question = compare::Arguments::of_runs(patterns, better, arguments.json, arguments.full, target);
    let wanted = question.wanted()?;
    let figures = OWN.len() + wanted.picks.len();
    let fewest = fewest_runs(figures);
    if (pairs as usize) < fewest {
        output::note(format_args!(
            "{pairs} pairs decide nothing: {figures} figures judged together need --compare {fewest}"
        ));
    }
    let folder = tempfile::tempdir().context("cannot make a folder for the command's output")?;
    for side in [Side::AsItIs, Side::Isolated] {
        std::fs::create_dir(folder.path().join(side.label()))?;
    }
    let counted = live::Wanted {
        cpus: Facts::online(&Live)?,
        kinds: Kind::ALL.into(),
        details_over_ns: None,
        longest_idle_exit_ns: Some(LONGEST_IDLE_EXIT_NS),
    };
    // One for all runs: the kernel verifies its programs for a second, and changes its text to call them.
    let mut session = Session::open(&counted, Choice::Auto)?;
    let begin = Instant::now();
    let (mut as_it_is, mut isolated) = (Vec::new(), Vec::new());
    for pair in 1..=pairs {
        as_it_is.push(one(arguments, request, &mut session, Side::AsItIs, folder.path(), pair)?);
        if pair == 1 {
            // A figure that is not in the output is an error now, and not after all runs.
            known(Side::AsItIs, &as_it_is, folder.path(), &wanted)?;
        }
        isolated.push(one(arguments, request, &mut session, Side::Isolated, folder.path(), pair)?);
        let left = begin.elapsed().as_secs_f64() / f64::from(pair) * f64::from(pairs - pair);
        output::step(format_args!("pair {pair} of {pairs} done, about {left:.0} s left"));
    }
    let sides = [
        known(Side::AsItIs, &as_it_is, folder.path(), &wanted)?,
        known(Side::Isolated, &isolated, folder.path(), &wanted)?,
    ];
    compare::judged(sides.into(), &question)
}

/// Runs and measures the command once. Its standard output goes to a file.
fn one(
    arguments: &Arguments,
    request: &Request,
    session: &mut Session,
    side: Side,
    folder: &Path,
    number: u32,
) -> Result<Run> {
    let path = folder.join(side.label()).join(format!("run-{number}"));
    let output = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    let run = match side {
        Side::AsItIs => {
            let placement = Placement { cpus: dyntick_latency::allowed(), partition: None, fifo: None };
            measured(request, session, || Running::start_into(&arguments.command, &placement, Some(output)))
        }
        Side::Isolated => {
            let own = std::env::current_exe().context("find this program")?;
            let isolation = Isolation::begin(request, &arguments.command, &own, given_up)
                .context("cannot isolate the CPUs")?;
            if number == 1 {
                super::note_limits_left(&isolation);
            }
            let start = || isolation.start_into(&arguments.command, arguments.fifo, Some(output));
            let run = measured(request, session, start);
            isolation.end().context(super::NOT_PUT_BACK)?;
            run
        }
    };
    let (run, status) = run?;
    if !status.success() {
        bail!("cannot compare: the command ended with {status} in run {number}, {}", side.label());
    }
    Ok(run)
}

fn measured(
    request: &Request,
    session: &mut Session,
    start: impl FnOnce() -> std::io::Result<Running>,
) -> Result<(Run, ExitStatus)> {
    // Begun before the command: a short one would have ended before it is followed.
    let (mut running, started) = session.start_by(|| {
        let started = start()?;
        Ok((started.process() as u32, started))
    })?;
    let end = running.wait(None);
    let measured = running.finish(end)?;
    let status = started.wait()?;
    let is_isolated = |cpu: u32| request.cpus.contains(cpu);
    let figures = stat::figures(&measured, &crate::measuring::adviser()?);
    let own = figures.iter().flatten().filter(|of| of.cpu.is_some_and(is_isolated));
    let interruptions: Option<u64> =
        own.map(|of| of.interruptions.as_ref().map(|all| all.count)).sum::<Option<u64>>();
    let interruptions = figures.as_ref().and(interruptions).map(|count| count as f64 / measured.seconds());
    let ledger = stat::ledger(&measured);
    Ok((Run { measured, ledger, interruptions }, status))
}

/// A side with dyntick's own figures, and those of the command's output if a reader knows it.
fn known(side: Side, runs: &[Run], folder: &Path, wanted: &sides::Wanted) -> Result<KnownSide> {
    let folder = folder.join(side.label());
    let figures = |own: &Own| -> Option<(MetricName, Metric)> {
        let values: Option<Vec<f64>> = runs.iter().map(own.of).collect();
        let metric = Metric {
            unit: own.unit.to_owned(),
            better: Better::Lower,
            clock: Clock::Wall,
            values: Values::Runs(values?),
            about: Default::default(),
        };
        Some((MetricName::new(own.name)?, metric))
    };
    let mut known = match sides::read(side.label(), &folder, wanted) {
        // Output of a program without a reader has no figures, unless some were asked for.
        Err(SideError::Nothing | SideError::File { .. }) if wanted.picks.is_empty() => KnownSide {
            side: compare_side(side.label()),
            made_here: None,
            disturbed_runs: 0,
            settings: Default::default(),
            contents: Default::default(),
            parts: Vec::new(),
            notes: Vec::new(),
        },
        read => read?,
    };
    known.side.metrics.extend(OWN.iter().filter_map(figures));
    Ok(known)
}

fn compare_side(label: &str) -> dyntick_stats::compare::Side {
    dyntick_stats::compare::Side { label: label.to_owned(), metrics: Default::default() }
}
