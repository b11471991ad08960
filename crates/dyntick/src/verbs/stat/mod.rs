// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick stat`: what interrupted CPUs while a command ran.

mod calls;
mod csv;
mod longest;
mod page;
mod power;

use crate::gate::{Lack, Limits};
use crate::measuring;
use crate::output::{self, Sheet};
pub use longest::over;

use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_check::shell;
use dyntick_contract::Adviser;
use dyntick_contract::gate::{Figures, Gate, Measures};
use dyntick_contract::stat::{self, Printed};
use dyntick_count::{Measured, Session};
use dyntick_explain::LONGEST_IDLE_EXIT_NS;
use dyntick_model::CpuList;
use dyntick_observe::live::{Choice, Function, Kind, Wanted};
use dyntick_report::numbers;
use page::Extent;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The arguments of `dyntick stat`.
#[derive(Args)]
#[command(after_help = "\
Events are counted in the kernel by eBPF (needs root, or CAP_BPF and CAP_PERFMON). Where a kernel cannot do \
that, its trace events are counted (tracefs; needs root), which costs the measured CPUs more. Without either, only \
the counters of /proc and /sys are shown. With a command or -p, eBPF also accounts for the time of their threads, on \
all CPUs: what they waited for, or who had their CPU. dyntick itself stays off the measured CPUs. The exit status is the command's.

Examples:
  dyntick stat -C 3 -- ./app        CPU 3 while ./app runs, wherever it runs
  dyntick stat -C 3 --pin -- ./app  the same, with ./app kept on CPU 3
  dyntick stat -C 2-3 -I 1000       every second, until Ctrl-C
  dyntick stat -p 4711              all CPUs, until process 4711 ends
  dyntick stat -C 3 -e none --calls hrtimer_interrupt -- ./app
                                    how long each call of a kernel function takes there")]
pub struct Arguments {
    /// CPUs to measure, e.g. 1-3,8 [default: all online CPUs]
    #[arg(short = 'C', long = "cpu", visible_alias = "cpus", value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Measure all CPUs (the default)
    #[arg(short = 'a', long, conflicts_with = "cpus")]
    all_cpus: bool,
    /// Print a table for each CPU; without it, 5 or more CPUs are summed up in one table
    #[arg(short = 'A', long = "no-aggr")]
    per_cpu: bool,
    /// Measure until these processes end; their tasks are counted apart from others
    #[arg(short = 'p', long = "pid", value_name = "PID", value_delimiter = ',', conflicts_with = "command")]
    pids: Vec<u32>,
    /// Count only these KINDS: timers, ticks, ipis, devices, softirqs, works, tasks, faults, nmis; or none
    #[arg(short = 'e', long = "event", value_name = "KINDS", value_delimiter = ',', value_parser = event)]
    events: Vec<Event>,
    /// Count by eBPF (bpf), from trace events (tracefs), or by eBPF with trace events as the fallback
    /// (auto)
    #[arg(long, value_name = "SOURCE", default_value = "auto", value_parser = measuring::source)]
    source: Choice,
    /// List each interruption longer than USEC µs, with its time and the task that was interrupted
    #[arg(long, value_name = "USEC", value_parser = longest::over)]
    over: Option<u64>,
    /// Time each call of these kernel functions, at most 8; fentry:FUNC and kprobe:FUNC choose the probe
    #[arg(long, value_name = "FUNCS", value_delimiter = ',')]
    calls: Vec<Function>,
    /// Print the energy and power of the processor packages too, if the machine counts them (RAPL)
    #[arg(long)]
    power: bool,
    /// Print counts every MS ms, at least 10
    #[arg(short = 'I', long = "interval-print", value_name = "MS",
        value_parser = clap::value_parser!(u64).range(10..=LONGEST_MS), conflicts_with = "repeat")]
    interval: Option<u64>,
    /// Run the command N times, and print means with their spread
    #[arg(short = 'r', long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1000), requires = "command")]
    repeat: u32,
    /// Stop after MS ms
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=LONGEST_MS), conflicts_with = "repeat")]
    timeout: Option<u64>,
    /// Pin the command to the measured CPUs
    #[arg(long, requires = "command", requires = "cpus")]
    pin: bool,
    /// Print every row with its cause and fix, not only the verdict and the largest
    #[arg(long, alias = "all")]
    full: bool,
    /// Print each row as one line of fields with SEPARATOR between them
    #[arg(short = 'x', long = "field-separator", value_name = "SEPARATOR", conflicts_with = "json", value_parser = separator)]
    separator: Option<String>,
    /// Print JSON; with -I one line for each interval
    #[arg(long)]
    json: bool,
    /// Exit with status 0 with --json though nothing could be counted here
    #[arg(long, requires = "json")]
    allow_partial: bool,
    #[command(flatten)]
    limits: Limits,
    /// Write the figures to FILE, not to standard error
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Append to the file of -o
    #[arg(long, requires = "output")]
    append: bool,
    /// Command to run, with its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A year: no sum of times overflows, and no measurement is longer.
const LONGEST_MS: u64 = 365 * 86_400_000;

/// The largest number of functions that are timed at once: each is a table to read.
const MOST_CALLS: usize = 8;

/// The number of CPUs from which on one table shows the sum.
const MANY_CPUS: usize = 5;

/// Measures and reports. The exit status is the command's.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let kinds = kinds(&arguments.events);
    let follows = !(arguments.command.is_empty() && arguments.pids.is_empty());
    let measures = Measures::Interruptions { kinds: kinds.clone(), command: follows };
    let cpus = measuring::cpus(arguments.cpus.as_ref())?;
    arguments.limits.ensure_usable(&suite(&arguments.command), &measures, &cpus)?;
    if arguments.calls.len() > MOST_CALLS {
        bail!("--calls: {} functions; at most {MOST_CALLS} at a time", arguments.calls.len());
    }
    let out = Out::new(arguments)?;
    let longest_idle_exit_ns = (follows && kinds.contains(&Kind::Tasks)).then_some(LONGEST_IDLE_EXIT_NS);
    let wanted = Wanted { cpus, kinds, details_over_ns: arguments.over, longest_idle_exit_ns };
    let mut session = Session::open(&wanted, arguments.source)?;
    session.time_calls(&arguments.calls)?;
    session.measure_power(arguments.power);
    session.lacks_real_time_limit(out.adviser.lacks_real_time_limit());
    let is_endless = !follows && arguments.timeout.is_none();
    if is_endless && arguments.interval.is_none() {
        output::note(format_args!("counting on CPU {}; stop with Ctrl-C", wanted.cpus));
    }
    let mut measured: Option<Measured> = None;
    let mut status = None;
    for _ in 0..arguments.repeat {
        let one = once(arguments, &mut session, &out)?;
        let stopped = one.stopped;
        status = one.finished.map(|finished| finished.code());
        measured = Some(match measured.take() {
            None => one,
            Some(before) => before.with(one),
        });
        if stopped {
            break;
        }
    }
    let measured = measured.context("nothing was measured")?;
    // With -I everything has been printed already.
    if arguments.interval.is_none() {
        out.show(&measured)?;
    }
    out.end(&measured, status)
}

/// The name of a measurement for a CI system.
fn suite(command: &[String]) -> String {
    format!("dyntick stat {}", shell::command(command)).trim().to_owned()
}

/// Makes one measurement, from the command's start to its end.
fn once(arguments: &Arguments, session: &mut Session, out: &Out) -> Result<Measured> {
    let pinned = arguments.pin.then_some(arguments.cpus.as_ref()).flatten();
    let mut running = session.start(&arguments.command, &arguments.pids, pinned)?;
    // Only now: reading the first figures takes some ms itself.
    let begin = Instant::now();
    let deadline = arguments.timeout.map(|ms| begin + Duration::from_millis(ms));
    let Some(ms) = arguments.interval else {
        let end = running.wait(deadline);
        return Ok(running.finish(end)?);
    };
    let interval = Duration::from_millis(ms);
    let mut next = begin + interval;
    loop {
        let until = deadline.map_or(next, |deadline| deadline.min(next));
        let end = running.wait(Some(until));
        let over = end.is_some() || deadline.is_some_and(|deadline| until == deadline);
        if over {
            let measured = running.finish(end)?;
            out.show(&measured)?;
            return Ok(measured);
        }
        out.show(&running.so_far()?)?;
        next += interval;
    }
}

/// Parses a field separator, which must neither end a line nor control a terminal.
fn separator(text: &str) -> Result<String, String> {
    // A tab, and ASCII's own separators.
    let harmless = |c: char| matches!(c, '\t' | '\x1c'..='\x1f') || !c.is_control();
    if text.chars().all(harmless) {
        Ok(text.to_owned())
    } else {
        Err("a separator must not have control characters other than tab".to_owned())
    }
}

/// The values of `-e`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    None,
    Kind(Kind),
}

fn event(text: &str) -> Result<Event, String> {
    match text {
        "none" => Ok(Event::None),
        _ => text.parse().map(Event::Kind).map_err(|error: String| format!("{error}, and none")),
    }
}

/// The requested kinds; all by default.
fn kinds(events: &[Event]) -> BTreeSet<Kind> {
    let kind = |event: &Event| match event {
        Event::None => None,
        Event::Kind(kind) => Some(*kind),
    };
    if events.is_empty() { Kind::ALL.into() } else { events.iter().filter_map(kind).collect() }
}

/// The destination and the format of the figures.
struct Out {
    to: To,
    form: Form,
    command: Vec<String>,
    adviser: Adviser,
    look: page::Look,
    limits: Limits,
    /// True if the command was started on the measured CPUs.
    pinned: bool,
    /// True if JSON without counts is an error.
    needs_counts: bool,
    /// True if something has been reported already.
    has_reported: Cell<bool>,
    /// The judgement on all that has been reported.
    judged: RefCell<Option<Gate>>,
    /// The first failure to write figures while a command ran, which goes on.
    unwritten: RefCell<Option<anyhow::Error>>,
}

/// The destination, as with perf: the command owns standard output, so figures go to standard error. JSON and CSV
/// go to standard output if no command is run.
enum To {
    Output,
    /// Standard error, after a command or in place of standard output.
    Aside,
    /// A file that is written once, completely.
    Named(PathBuf),
    /// A file that is appended to.
    Growing(PathBuf, File),
}

impl To {
    fn new(arguments: &Arguments) -> Result<Self> {
        let is_text = arguments.separator.is_none() && !arguments.json;
        let Some(path) = &arguments.output else {
            let is_beside = is_text || !arguments.command.is_empty();
            return Ok(if is_beside { Self::Aside } else { Self::Output });
        };
        // An unwritable file is refused before anything runs.
        output::ensure_writable(path)?;
        if (arguments.interval.is_none() && !arguments.append) || dyntick_system::is_standard_output(path) {
            return Ok(Self::Named(path.clone()));
        }
        let file = dyntick_system::open_growing(path, arguments.append)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self::Growing(path.clone(), file))
    }

    fn sheet(&self) -> Sheet {
        match self {
            Self::Output => Sheet::output(),
            Self::Aside => Sheet::aside(),
            Self::Named(_) | Self::Growing(..) => Sheet::file(),
        }
    }

    fn put(&self, text: &str) -> Result<()> {
        match self {
            Self::Output => output::rendered(text),
            Self::Aside => output::rendered_aside(text),
            Self::Named(path) => output::file(path, text.as_bytes()),
            Self::Growing(path, file) => {
                let mut file = file;
                file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }
}

enum Form {
    Text,
    Csv(String),
    Json { lines: bool },
}

impl Out {
    fn new(arguments: &Arguments) -> Result<Self> {
        let form = match (&arguments.separator, arguments.json) {
            (Some(separator), _) => Form::Csv(separator.clone()),
            (None, true) => Form::Json { lines: arguments.interval.is_some() },
            (None, false) => Form::Text,
        };
        let look = page::Look {
            per_cpu: arguments.per_cpu,
            extent: match (arguments.interval, arguments.full) {
                (Some(_), full) => Extent::Interval { full },
                (None, true) => Extent::Full,
                (None, false) => Extent::Screen,
            },
        };
        Ok(Self {
            to: To::new(arguments)?,
            form,
            command: arguments.command.clone(),
            adviser: measuring::adviser()?,
            look,
            limits: arguments.limits.clone(),
            pinned: arguments.pin,
            needs_counts: arguments.json && !arguments.allow_partial && !kinds(&arguments.events).is_empty(),
            has_reported: Cell::new(false),
            judged: RefCell::default(),
            unwritten: RefCell::default(),
        })
    }

    /// The judgement. Figures of CPUs on which the command did not run say nothing about it.
    fn gate(&self, measured: &Measured) -> Option<Gate> {
        self.limits.judge(&match measured.elsewhere_ns() {
            Some(_) => Figures::uncounted(&measured.cpus),
            None => stat::figures(measured, &self.adviser),
        })
    }

    /// The exit status: the command's if it failed, else that of the limits.
    fn end(&self, measured: &Measured, command: Option<u8>) -> Result<ExitCode> {
        let lack = self.lack(measured);
        let gate = self.judged.take();
        let status = self.limits.end(gate.as_ref(), lack.as_ref(), &suite(&self.command), command)?;
        let is_lacking = self.needs_counts && measured.counts.is_none() && command.unwrap_or(0) == 0;
        let written = self.unwritten.take().map_or(Ok(()), Err);
        output::status_of(written, command, if is_lacking { ExitCode::from(2) } else { status })
    }

    fn lack(&self, measured: &Measured) -> Option<Lack> {
        if measured.counts.is_none() {
            return Some(Lack::Counts(match measured.missing.first() {
                Some(missing) => format!("for {}: {}", missing.what, missing.needs),
                None => "neither eBPF nor trace events can be used here".to_owned(),
            }));
        }
        let Some(ns) = measured.elsewhere_ns() else { return stat::nameless(measured).map(Lack::part) };
        let (cpus, used) = (&measured.cpus, numbers::duration(ns as f64));
        let why = if self.pinned { "it chose other CPUs itself" } else { "add --pin to keep it there" };
        Some(Lack::Counts(format!("the command used {used} of CPU time, but not on CPU {cpus}: {why}")))
    }

    fn show(&self, measured: &Measured) -> Result<()> {
        let first = !self.has_reported.replace(true);
        let gate = self.gate(measured);
        // Each interval is judged, and the worst judgement is that of the run.
        let all = gate.clone().map(|now| now.after(self.judged.take()));
        self.judged.replace(all);
        let text = match &self.form {
            Form::Text => {
                let document = page::document(measured, &self.command, &self.adviser, &self.look, first);
                // The last line of the command's output may have no end.
                let is_behind = first && !self.command.is_empty() && matches!(self.to, To::Aside);
                let begin = if is_behind { "\n" } else { "" };
                format!("{begin}{}\n", self.to.sheet().text(&document))
            }
            Form::Csv(separator) => csv::text(measured, separator, first),
            Form::Json { lines } => {
                let printed = Printed { gate, ..Printed::of(measured, &self.command, &self.adviser) };
                if *lines { output::as_json_line(&printed)? } else { output::as_json(&printed)? }
            }
        };
        // Each format has cleaned its output; the separator may be a tab.
        match self.to.put(&text) {
            Err(error) if !self.command.is_empty() => {
                self.unwritten.borrow_mut().get_or_insert(error);
                Ok(())
            }
            shown => shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Kind, event, kinds, separator};

    #[test]
    fn no_kind_is_a_choice() {
        assert_eq!((event("none"), event("ticks")), (Ok(Event::None), Ok(Event::Kind(Kind::Ticks))));
        assert!(event("ghosts").unwrap_err().ends_with("nmis, and none"));
        assert_eq!((kinds(&[]).len(), kinds(&[Event::None]).len()), (Kind::ALL.len(), 0));
        assert_eq!(kinds(&[Event::None, Event::Kind(Kind::Ticks)]), [Kind::Ticks].into());
    }

    #[test]
    fn separator_cannot_control_the_terminal() {
        for text in ["", ",", ";;", "\t", "\u{1f}", "µ"] {
            assert_eq!(separator(text), Ok(text.to_owned()));
        }
        for text in ["\n", "\u{1b}[2J", "\u{9b}", "\u{7f}", "\r"] {
            assert!(separator(text).is_err(), "{text:?}");
        }
    }
}
