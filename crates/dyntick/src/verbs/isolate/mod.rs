// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick isolate`: quiet CPUs while a command runs.

mod changes;
mod pairs;
mod report;

use crate::gate::{Lack, Limits};
use crate::output::{self, Target};
use crate::verbs::compare::Direction;
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_check::shell;
use dyntick_contract::gate::Measures;
use dyntick_contract::isolate::{Left, Planned, Report};
use dyntick_isolate::apply::ApplyError;
use dyntick_isolate::{
    Facts, IsolateError, Isolation, Journal, JournalError, Live, PartitionKind, Placement, Request, Restored,
    Running, group_outside, keep_signals, plan, received, restore,
};
use dyntick_model::CpuList;
use dyntick_model::text::clean_line;
use dyntick_observe::facts::Owners;
use dyntick_record::proof::{self, Proof};
use dyntick_system::{exit_code, find_as_shell};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

/// The arguments of `dyntick isolate`.
#[derive(Args)]
#[command(after_help = "The command runs with this process's user, environment and terminal, and its exit \
    status is passed on. Under sudo it therefore runs as root; `-- runuser -u NAME -- COMMAND` changes that.

Examples:
  dyntick isolate -C 3 --dry-run    what would be changed
  dyntick isolate -C 3 -- ./app     run ./app on CPU 3, and what interrupted it
  dyntick isolate -C 3 --json -o x.json -- ./app
                                    the report as JSON, apart from what ./app prints
  dyntick isolate --restore         put back what a killed dyntick left changed")]
pub struct Arguments {
    /// CPUs to isolate, e.g. 3 or 2-3,6
    #[arg(
        short = 'C',
        long,
        visible_alias = "cpu",
        value_name = "LIST",
        required_unless_present = "restore"
    )]
    cpus: Option<CpuList>,
    /// Print each change without making it
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run, print each thread, however many are moved
    #[arg(short, long, requires = "dry_run")]
    verbose: bool,
    /// Restore the settings that a killed dyntick left changed
    #[arg(long, conflicts_with_all = ["cpus", "command", "dry_run"])]
    restore: bool,
    /// Run the command under SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u32).range(1..=99))]
    fifo: Option<u32>,
    /// Let the scheduler balance the command's threads over the CPUs
    #[arg(long)]
    balance: bool,
    /// Limit the exit latency of these CPUs' idle states to US µs; 0 leaves idle states alone
    #[arg(long, value_name = "US", default_value_t = 2)]
    idle_latency: u32,
    /// Run the command N times as it is and N times isolated, in turn, and compare its time, its waits, and the figures
    /// in its output
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000),
        conflicts_with_all = ["dry_run", "restore", "max_interruptions", "at_most", "junit"])]
    compare: Option<u32>,
    /// With --compare: the number that REGEX finds in the command's output, in its one group; NAME=REGEX names it.
    /// Output of tools that `compare` reads needs none
    #[arg(long, value_name = "REGEX", requires = "compare")]
    metric: Vec<String>,
    /// The better direction of each --metric
    #[arg(long, value_enum, value_name = "DIRECTION", default_value_t = Direction::Unknown, requires = "metric")]
    better: Direction,
    /// Exit with status 1 if the CPUs were interrupted more than N times; see also --at-most
    #[arg(long, value_name = "N")]
    max_interruptions: Option<u64>,
    #[command(flatten)]
    limits: Limits,
    /// Print every cause with its chain, and all of the command's time
    #[arg(long)]
    full: bool,
    /// Print JSON: the plan with --dry-run, else the report, on standard error or to the file of -o
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
    /// Command to run
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Isolates, runs, reports, and restores everything. The status is the command's.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    if arguments.restore {
        return put_back(arguments);
    }
    let request = request(arguments)?;
    arguments.limits.ensure_usable("dyntick isolate", &Measures::interruptions(true), &request.cpus)?;
    if arguments.dry_run {
        let facts = Facts::read(&Live, &request.cpus)?;
        let planned = plan(&facts, &request);
        if arguments.json {
            arguments.target.json(&Planned::of(&planned, &request))?
        } else {
            arguments.target.text(&changes::as_text(&planned, &request, arguments.verbose))?
        }
        return Ok(ExitCode::SUCCESS);
    }
    let Some(program) = arguments.command.first() else {
        bail!("isolate needs a command: dyntick isolate -C {} -- COMMAND", request.cpus);
    };
    if let Err(error) = find_as_shell(program) {
        return Ok(not_started(program, &error));
    }
    keep_signals();
    if let Some(pairs) = arguments.compare {
        return pairs::run(arguments, &request, pairs);
    }
    let own = std::env::current_exe().context("find this program")?;
    match Isolation::begin(&request, &arguments.command, &own, given_up) {
        Ok(isolation) => isolated(arguments, &request, isolation),
        // Dropping the isolation has restored it.
        Err(IsolateError::Apply(ApplyError::Stopped)) => {
            output::note(ApplyError::Stopped);
            Ok(ExitCode::from(128 + received().unwrap_or_default() as u8))
        }
        Err(IsolateError::Journal(JournalError::File { path, source }))
            if source.kind() == ErrorKind::PermissionDenied =>
        {
            output::note(format_args!(
                "not root: the machine's settings are left unchanged ({}: {source}):",
                path.display()
            ));
            report::without_root(&plan(&Facts::read(&Live, &request.cpus)?, &request));
            only_pinned(arguments, &request)
        }
        Err(IsolateError::Journal(error @ JournalError::Container(_))) => {
            output::note(format_args!(
                "the machine's settings are left unchanged: {error}; isolate on the machine itself. Here the command only has its CPUs"
            ));
            only_pinned(arguments, &request)
        }
        Err(error) => Err(error.into()),
    }
}

fn request(arguments: &Arguments) -> Result<Request> {
    let cpus = arguments.cpus.clone().unwrap_or_default();
    let online = Facts::online(&Live)?;
    if cpus.is_empty() {
        bail!("-C names no CPU");
    }
    let absent = cpus.difference(&online);
    if !absent.is_empty() {
        bail!("CPU {absent} is not online; online: {online}");
    }
    if online.is_subset(&cpus) {
        bail!("all CPUs that are online ({online}) would be isolated: leave at least one housekeeping CPU");
    }
    let kind = if arguments.balance { PartitionKind::Root } else { PartitionKind::Isolated };
    let (realtime, idle_latency_us) = (arguments.fifo.is_some(), arguments.idle_latency);
    Ok(Request { cpus, kind, realtime, idle_latency_us })
}

fn isolated(arguments: &Arguments, request: &Request, mut isolation: Isolation) -> Result<ExitCode> {
    report::refusals(&isolation);
    note_limits_left(&isolation);
    isolation.announce(dyntick_observe::trace::TraceSession::own_folders())?;
    let start = || isolation.start(&arguments.command, arguments.fifo);
    let (proof, ended) = observed(arguments, request, isolation.applied.partition.as_deref(), start)?;
    let held = isolation.partition_holds();
    let applied = std::mem::take(&mut isolation.applied);
    let restored = isolation.end().context(NOT_PUT_BACK)?;
    // The text on standard error already reports it; a file may never be read.
    if !restored.failed.is_empty() && (arguments.json || arguments.target.is_named()) {
        output::note(report::not_whole(&restored));
    }
    finish(arguments, ended, |ended| {
        let report = Report::new(request, &arguments.command, ended.status, &applied, held, proof, restored);
        Report { left: ended.left, ..report }
    })
}

/// Reports the limits of the present control group: those that the command leaves for the partition, and those that it
/// keeps. A partition is a group of cgroup v2, so a quota of control groups v1 stays.
fn note_limits_left(isolation: &Isolation) {
    let has_partition = isolation.applied.partition.is_some();
    let mut owners = Owners::default();
    owners.look([std::process::id() as i32]);
    for quota in owners.limits.values().filter_map(|quotas| quotas.first()) {
        let words = quota.words();
        if has_partition && quota.is_v2() {
            output::note(format_args!(
                "the command leaves its CPU quota, {words}: it runs without one while it is isolated"
            ));
        } else {
            output::note(format_args!(
                "the command keeps its CPU quota, {words}: it is throttled while it is isolated, too"
            ));
        }
    }
    for limit in owners.memory_limits.values().flatten().filter(|_| has_partition) {
        output::note(format_args!(
            "the command leaves its memory limit, {}: it runs without it while it is isolated",
            limit.words()
        ));
    }
}

/// The end of a command.
struct Ended {
    status: ExitStatus,
    left: Option<Left>,
}

/// Waits for the end of a command, and looks where that was.
fn ended(running: Running, partition: Option<&Path>) -> std::io::Result<Ended> {
    let mut left = None;
    let status =
        running.wait(|process| left = partition.and_then(|partition| left_for(process, partition)))?;
    Ok(Ended { status, left })
}

/// The control group for which a process has left the partition.
fn left_for(process: i32, partition: &Path) -> Option<Left> {
    let group = group_outside(process, partition)?;
    let mut owners = Owners::default();
    owners.look([process]);
    Some(Left { group, quota: owners.quotas.remove(&process) })
}

const NOT_PUT_BACK: &str =
    "the machine is not put back as it was; `dyntick isolate --restore` does it once this is fixed";

/// Reports the restoration after isolating has ended early.
fn given_up(restored: &Result<Restored, JournalError>) {
    match restored {
        Ok(Restored { failed, notes, .. }) if failed.is_empty() && notes.is_empty() => {}
        Ok(restored) => report_restored(restored, "put back what was changed until then"),
        Err(error) => output::note(format_args!("{NOT_PUT_BACK}: {error}")),
    }
}

/// Runs the command on its CPUs without root, and reports what can be observed of them.
fn only_pinned(arguments: &Arguments, request: &Request) -> Result<ExitCode> {
    let placement = Placement { cpus: request.cpus.clone(), partition: None, fifo: arguments.fifo };
    let (proof, ended) =
        observed(arguments, request, None, || Running::start(&arguments.command, &placement))?;
    finish(arguments, ended, |ended| {
        let (applied, restored) = Default::default();
        Report::new(request, &arguments.command, ended.status, &applied, None, proof, restored)
    })
}

fn observed(
    arguments: &Arguments,
    request: &Request,
    partition: Option<&Path>,
    start: impl FnOnce() -> std::io::Result<Running>,
) -> Result<(Proof, std::io::Result<Ended>)> {
    let words: Vec<String> =
        arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let observed = proof::observe(&request.cpus, partition.is_some(), &words, |begun| {
        let running = start()?;
        begun(running.process());
        self::ended(running, partition)
    });
    observed.context("the trace cannot be read")
}

fn finish(
    arguments: &Arguments,
    ended: std::io::Result<Ended>,
    report: impl FnOnce(Ended) -> Report,
) -> Result<ExitCode> {
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => return Ok(not_started(&arguments.command[0], &error)),
    };
    let status = ended.status;
    let mut report = report(ended);
    report.exceeded = arguments.max_interruptions.map(|most| report.interruptions() > most);
    report.gate = arguments.limits.judge(&report.figures());
    let written = report::write(&report, arguments.json, arguments.full, &arguments.target);
    let suite = format!("dyntick isolate {}", shell::command(&report.command));
    let left = report.has_left().then_some("the command did not run on its CPUs");
    let lack = report.proof.no_trace.as_deref().or(left).map(|why| Lack::Counts(why.to_owned()));
    let command = Some(exit_code(status));
    let own = arguments.limits.end(report.gate.as_ref(), lack.as_ref(), &suite, command)?;
    let is_disturbed = own == ExitCode::SUCCESS && report.exceeded == Some(true);
    output::status_of(written, command, if is_disturbed { ExitCode::from(1) } else { own })
}

/// The status of a command that cannot be started, as of env(1), chrt(1) and others.
fn not_started(program: &OsString, error: &std::io::Error) -> ExitCode {
    output::note(format_args!("cannot run {}: {error}", Path::new(program).display()));
    ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 })
}

fn put_back(arguments: &Arguments) -> Result<ExitCode> {
    let path = Journal::default_path();
    let there = path.try_exists().with_context(|| {
        format!("look for {}: putting settings back needs root, who alone may read it", path.display())
    })?;
    if there {
        dyntick_isolate::ensure_on_machine().context("restore on the machine itself")?;
    }
    let restored =
        if there { restore(&mut Live, Journal::take_of_dead(&path)?).context(NOT_PUT_BACK)? } else { None };
    if arguments.json {
        arguments.target.json(&restored.clone().unwrap_or_default())?;
    } else {
        match &restored {
            Some(restored) => report::restored(restored, &mut aside_line),
            None => output::note("nothing to put back"),
        }
    }
    let failed = restored.is_some_and(|restored| !restored.failed.is_empty());
    Ok(ExitCode::from(u8::from(failed)))
}

/// Restores the settings that a killed isolate has left, before any other verb looks at the machine.
pub fn put_leftover_back() {
    match dyntick_isolate::restore_leftover() {
        Ok(None) => {}
        Ok(Some(restored)) => report_restored(&restored, "put back what a killed isolate had left"),
        // A journal that another user may have written: root must inspect it, not try again.
        Err(JournalError::File { path, source }) if source.kind() == ErrorKind::InvalidData => {
            output::note(format_args!("the journal of isolate is not read: {}: {source}", path.display()));
        }
        Err(error) => output::note(format_args!(
            "a killed isolate has left settings behind ({error}); `dyntick isolate --restore` as root puts them back"
        )),
    }
}

/// Runs the guardian of an isolate that was killed.
pub fn guard(lock: &str) -> Result<ExitCode> {
    if let Some(restored) = dyntick_isolate::guard(lock.parse()?).context(NOT_PUT_BACK)? {
        let done =
            if restored.failed.is_empty() { "has put everything back" } else { "has put back what it could" };
        report_restored(&restored, &format!("isolate did not finish; its guardian {done}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn report_restored(restored: &Restored, what: &str) {
    output::note(format_args!("{what} ({} settings)", restored.restored));
    report::exceptions(restored, &mut aside_line);
}

fn aside_line(line: String) {
    output::aside(clean_line(&line) + "\n");
}
