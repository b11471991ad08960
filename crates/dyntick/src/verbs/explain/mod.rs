// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick explain`: what interrupted the CPUs of a record, the causes, and the fixes.

mod figures;
mod folded;
mod perfetto;
mod report;

use super::recording::{What, options, take};
use crate::gate::{Lack, Limits};
use crate::output::{self, Target};
use anyhow::{Result, anyhow, bail};
use clap::Args;
use dyntick_check::shell;
use dyntick_contract::explain::Explanation;
use dyntick_contract::gate::Measures;
use dyntick_model::CpuList;
use dyntick_record::{Of, Record, Slices, Watch};
use dyntick_system::exit_code;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `dyntick explain`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dyntick explain -C 3 -- ./app     record CPU 3 while ./app runs, explain it
  dyntick explain --of app -- ./app
                                    what interrupted ./app's threads, on any CPU
  dyntick explain x.dt --html x.html
                                    explain a record, with a timeline
  dyntick explain -C 3 trace.dat    CPU 3 in a trace that trace-cmd recorded")]
pub struct Arguments {
    /// File of `dyntick record`, or a trace of another tool: trace.dat, perf.data, or the text of tracefs, trace-cmd
    /// report or perf script, compressed or not; without it, record first, as `record` does
    #[arg(value_name = "FILE", conflicts_with_all = ["pid", "stacks", "system_calls", "command"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    what: What,
    /// Explain what interrupted these threads wherever they ran, not what interrupted a CPU: those of a name, of a
    /// process, or one thread [default for -C then: all CPUs]
    #[arg(long, value_name = "COMMAND|PID|TID")]
    of: Option<Of>,
    /// Print the findings as JSON; after a command on standard error, or to the file of -o
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    limits: Limits,
    /// Print every cause, with its explanation and all chains and fixes, not only the verdict and the first few
    #[arg(long, short_alias = 'v', alias = "verbose")]
    full: bool,
    /// Also write the findings with a timeline to FILE, as HTML
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write each interruption and idle period to FILE, for ui.perfetto.dev: tracks of CPUs with arrows from
    /// senders; '-' is standard output
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Also write the time by cause and chain to FILE as folded stacks, for flame graphs (flamegraph.pl, inferno,
    /// speedscope); '-' is standard output
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,
}

impl Arguments {
    /// The files in addition to the result.
    fn pictures(&self) -> impl Iterator<Item = &Path> {
        [&self.html, &self.perfetto, &self.folded].into_iter().flatten().map(PathBuf::as_path)
    }

    /// Returns true if this machine is recorded first.
    pub fn records(&self) -> bool {
        self.file.is_none()
    }
}

/// Returns true if no process or thread has this number.
fn has_ended(of: &Of) -> bool {
    matches!(of, Of::Numbered(number) if !std::path::Path::new(&format!("/proc/{number}")).exists())
}

/// The kernel's function in which the first of these threads is asleep now, in words; `None` if it is not asleep, or
/// nothing is known of it.
fn waits(record: &Record, of: &Of) -> Option<String> {
    let tid = *record.threads_of(of).first()?;
    let path = format!("/proc/{tid}/wchan");
    let function =
        std::fs::read_to_string(&path).ok().filter(|function| !matches!(function.as_str(), "" | "0"))?;
    let holder = match function.as_str() {
        "locks_lock_inode_wait"
        | "flock_lock_inode_wait"
        | "posix_lock_inode_wait"
        | "fcntl_setlk"
        | "do_lock_file_wait" => ": a lock on a file, whose holder /proc/locks names",
        _ => "",
    };
    Some(format!("its thread {tid} waits in {function}() ({path}){holder}"))
}

/// Explains a record. The status is 0, or that of the recorded command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.pictures().try_for_each(output::ensure_writable)?;
    arguments.target.ensure_writable()?;
    // A record may be of a machine with another kernel.
    match &arguments.file {
        Some(_) => {
            // Its CPUs are not known yet.
            let (measures, cpus) = (Measures::interruptions(true), CpuList::default());
            arguments.limits.ensure_judged("dyntick explain", &measures, &cpus)?
        }
        None => {
            let follows = arguments.what.follows_a_process() || arguments.of.is_some();
            let options = options(&arguments.what, arguments.of.is_some())?;
            let measures = Measures::interruptions(follows);
            arguments.limits.ensure_usable("dyntick explain", &measures, &options.cpus)?
        }
    }
    let (record, status) = match &arguments.file {
        Some(file) => {
            dyntick_system::leave_half_of_memory();
            let mut record = Record::open(file)?;
            if let Some(cpus) = arguments.what.cpus() {
                record.only(cpus).map_err(|reason| anyhow!("cannot explain {}: {reason}", file.display()))?;
            }
            (record, None)
        }
        None if arguments.of.as_ref().is_some_and(has_ended) => bail!(
            "cannot explain the thread or process of --of: /proc has none of this number; see ps -eLo pid,tid,comm"
        ),
        None => take(&arguments.what, &options(&arguments.what, arguments.of.is_some())?)?,
    };
    if arguments.of.is_some() && !record.about.recorded().has_switches() {
        bail!(
            "cannot explain the threads of --of: the trace has no sched:sched_switch, which shows where they ran; record \
             with the command of `dyntick record --print trace-cmd`"
        );
    }
    let mut slices = Slices::new(&record.about, arguments.perfetto.is_some());
    let watch: &mut dyn Watch =
        if arguments.perfetto.is_some() || arguments.folded.is_some() { &mut slices } else { &mut () };
    let explained = match record.explain_to(arguments.of.clone(), watch) {
        Ok(explained) => explained,
        Err(error) => match &arguments.file {
            Some(file) => bail!("{} is damaged: {error}", file.display()),
            None => bail!("the trace cannot be read: {error}"),
        },
    };
    let findings = explained.findings();
    let gate = arguments.limits.judge(&figures::of(&findings));
    if let Some(none) = findings.threads.as_ref().filter(|threads| threads.threads == 0) {
        let cpus = &record.about.cpus;
        let of = arguments.of.as_ref().filter(|_| arguments.file.is_none());
        let waiting = of.and_then(|of| waits(&record, of));
        match waiting {
            Some(waiting) => {
                bail!("{} was not seen to run on CPU {cpus} while it was recorded: {waiting}", none.of)
            }
            None => bail!(
                "{} was not seen to run on CPU {cpus} while it was recorded: names are those of /proc/PID/comm; to \
                 keep a program there, start it by taskset -c {cpus}",
                none.of
            ),
        }
    }
    if let Some(path) = &arguments.html {
        let document = report::document(&explained, &findings, true);
        output::file(path, dyntick_report::html(&document).as_bytes())?;
    }
    if let Some(path) = &arguments.folded {
        output::file_by(path, |to| folded::write(to, &slices))?;
    }
    if let Some(path) = &arguments.perfetto {
        perfetto::write(path, &explained, &findings, &mut slices)?;
    }
    let written = if arguments.json {
        let explanation = Explanation { findings: &findings, gate: gate.clone() };
        arguments.target.json_beside(arguments.what.runs_a_command(), &explanation)
    } else {
        let document = report::document(&explained, &findings, arguments.full);
        if arguments.what.runs_a_command() {
            arguments.target.page_behind(&document)
        } else {
            arguments.target.page(&document)
        }
    };
    let command = status.map(exit_code);
    let suite = format!("dyntick explain {}", shell::command(&findings.command));
    let unrecorded: Vec<&str> = figures::unrecorded(&findings).into_iter().map(|kind| kind.name()).collect();
    let lack = Lack::Part(format!(
        "the trace has no event of {}, so a limit on them cannot be kept; record with the command of `dyntick record --print \
         trace-cmd`",
        unrecorded.join(", ")
    ));
    let lack = (!unrecorded.is_empty()).then_some(&lack);
    let own = arguments.limits.end(gate.as_ref(), lack, suite.trim(), command)?;
    output::status_of(written, command, own)
}
