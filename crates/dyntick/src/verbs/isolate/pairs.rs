// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick isolate --compare`: the command as it is and isolated, in turn, and the difference.

use super::{Arguments, given_up};
use crate::verbs::compare;
use crate::{measuring, output};
use anyhow::{Context, Result, bail};
use dyntick_contract::stat;
use dyntick_count::{Measured, Session};
use dyntick_explain::LONGEST_IDLE_EXIT_NS;
use dyntick_isolate::apply::ApplyError;
use dyntick_isolate::{Facts, IsolateError, Isolation, Live, Placement, Request, Running, received};
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
    let wanted = sides::Wanted { are_runs: true, ..question.wanted()? };
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
    let mut session = Session::open_without_signals(&counted, Choice::Auto)?;
    session.lacks_real_time_limit(measuring::adviser()?.lacks_real_time_limit());
    let mut pairs = Pairs { arguments, request, folder: folder.path(), count: pairs, session };
    match pairs.sides(&wanted)? {
        Some(sides) => compare::judged(sides.into(), &question),
        None => {
            let signal = received().unwrap_or_default();
            output::note(format_args!("ended by signal {signal} before the last pair: nothing is compared"));
            Ok(ExitCode::from(128 + signal as u8))
        }
    }
}

/// The runs of a command on both sides.
struct Pairs<'a> {
    arguments: &'a Arguments,
    request: &'a Request,
    /// Has the output of each side in its folder.
    folder: &'a Path,
    count: u32,
    session: Session,
}

impl Pairs<'_> {
    /// Runs the command on each side in turn; `None` if a signal ended it.
    fn sides(&mut self, wanted: &sides::Wanted) -> Result<Option<[KnownSide; 2]>> {
        let begin = Instant::now();
        let (mut as_it_is, mut isolated) = (Vec::new(), Vec::new());
        for pair in 1..=self.count {
            let Some(run) = self.one(Side::AsItIs, pair)? else { return Ok(None) };
            as_it_is.push(run);
            if pair == 1 {
                // A figure that is not in the output is an error now, and not after all runs.
                known(Side::AsItIs, &as_it_is, self.folder, wanted)?;
            }
            let Some(run) = self.one(Side::Isolated, pair)? else { return Ok(None) };
            isolated.push(run);
            let left = begin.elapsed().as_secs_f64() / f64::from(pair) * f64::from(self.count - pair);
            output::step(format_args!("pair {pair} of {} done, about {left:.0} s left", self.count));
        }
        Ok(Some([
            known(Side::AsItIs, &as_it_is, self.folder, wanted)?,
            known(Side::Isolated, &isolated, self.folder, wanted)?,
        ]))
    }

    /// Runs and measures the command once; `None` if a signal came. Its standard output goes to a file.
    fn one(&mut self, side: Side, number: u32) -> Result<Option<Run>> {
        if received().is_some() {
            return Ok(None);
        }
        let path = self.folder.join(side.label()).join(format!("run-{number}"));
        let output = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        let run = match side {
            Side::AsItIs => self.as_it_is(output)?,
            Side::Isolated => match self.isolated(output, number == 1)? {
                Some(run) => run,
                None => return Ok(None),
            },
        };
        let (run, status) = run;
        // The signal reached the command too, so its status says nothing of its own.
        if received().is_some() {
            return Ok(None);
        }
        if !status.success() {
            bail!("cannot compare: the command ended with {status} in run {number}, {}", side.label());
        }
        Ok(Some(run))
    }

    fn as_it_is(&mut self, output: File) -> Result<(Run, ExitStatus)> {
        let placement = Placement { cpus: dyntick_latency::allowed(), partition: None, fifo: None };
        let command = &self.arguments.command;
        let start = || Running::start_into(command, &placement, Some(output));
        let (run, ended) = measured(self.request, &mut self.session, None, start)?;
        Ok((run, ended.status))
    }

    /// The same isolated; `None` if a signal came before the CPUs were.
    fn isolated(&mut self, output: File, is_first: bool) -> Result<Option<(Run, ExitStatus)>> {
        let own = std::env::current_exe().context("find this program")?;
        let command = &self.arguments.command;
        let isolation = match Isolation::begin(self.request, command, &own, given_up) {
            Ok(isolation) => isolation,
            // Dropping the isolation has restored it.
            Err(IsolateError::Apply(ApplyError::Stopped)) => return Ok(None),
            Err(error) => return Err(error).context("cannot isolate the CPUs"),
        };
        if is_first {
            super::note_limits_left(&isolation);
        }
        let start = || isolation.start_into(command, self.arguments.fifo, Some(output));
        let run = measured(self.request, &mut self.session, isolation.applied.partition.as_deref(), start);
        let restored = isolation.end().context(super::NOT_PUT_BACK)?;
        if !restored.failed.is_empty() {
            output::note(super::report::not_whole(&restored));
        }
        let (run, ended) = run?;
        match ended.left {
            Some(left) => bail!("cannot compare: the command left its partition for {left}"),
            None => Ok(Some((run, ended.status))),
        }
    }
}

fn measured(
    request: &Request,
    session: &mut Session,
    partition: Option<&Path>,
    start: impl FnOnce() -> std::io::Result<Running>,
) -> Result<(Run, super::Ended)> {
    // Begun before the command: a short one would have ended before it is followed.
    let (mut running, started) = session.start_by(|| {
        let started = start()?;
        Ok((started.process() as u32, started))
    })?;
    let end = running.wait(None);
    let measured = running.finish(end)?;
    let ended = super::ended(started, partition)?;
    let is_isolated = |cpu: u32| request.cpus.contains(cpu);
    let figures = stat::figures(&measured, &crate::measuring::adviser()?);
    let own = figures.iter().filter(|of| of.cpu.is_some_and(is_isolated));
    let interruptions: Option<u64> =
        own.map(|of| of.interruptions.as_ref().map(|all| all.count)).sum::<Option<u64>>();
    let interruptions = interruptions.map(|count| count as f64 / measured.seconds());
    let ledger = stat::ledger(&measured);
    Ok((Run { measured, ledger, interruptions }, ended))
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
        // The file is gone when the user reads of it.
        Err(SideError::File { path, error }) => {
            let run = path.file_name().unwrap_or_default().to_string_lossy().replace('-', " ");
            bail!("cannot compare: {run}, {}: {error}", side.label())
        }
        read => read?,
    };
    known.side.metrics.extend(OWN.iter().filter_map(figures));
    Ok(known)
}

fn compare_side(label: &str) -> dyntick_stats::compare::Side {
    dyntick_stats::compare::Side { label: label.to_owned(), metrics: Default::default() }
}
