// SPDX-License-Identifier: GPL-2.0-only
//! Recordings of this machine, as `record` and `explain` take them.

use crate::output;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use dyntick_check::shell;
use dyntick_model::CpuList;
use dyntick_observe::facts::Machine;
use dyntick_observe::trace::SessionError;
use dyntick_record::{
    Options, Record, RecordError, events_of_record, record_command, record_process, record_until_interrupted,
};
use dyntick_system::exit_code;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

/// The subject of a recording.
#[derive(Args)]
pub struct What {
    /// CPUs to record, e.g. 3 or 2-3,8 [default: nohz_full= and isolated CPUs, else all]
    #[arg(short = 'C', long, visible_alias = "cpu", value_name = "CPULIST")]
    cpus: Option<CpuList>,
    /// Record until process PID ends
    #[arg(short = 'p', long, value_name = "PID", conflicts_with = "command")]
    pid: Option<i32>,
    /// Size of each recorded CPU's trace buffer, in KiB
    #[arg(long, value_name = "KIB", default_value_t = Options::BUFFER_KIB, value_parser = clap::value_parser!(u32).range(16..=1 << 20))]
    buffer: u32,
    /// Record the call stack of whatever causes each interruption (kernel and user)
    #[arg(long)]
    stacks: bool,
    /// Record system calls too, two events for each: which of them ran and waited for how long
    #[arg(long = "syscalls")]
    system_calls: bool,
    /// Record while this command runs; without one, until Ctrl-C
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl What {
    /// Returns true if a command runs, which then owns standard output.
    pub fn runs_a_command(&self) -> bool {
        !self.command.is_empty()
    }

    /// The CPUs that were named.
    pub fn cpus(&self) -> Option<&CpuList> {
        self.cpus.as_ref()
    }

    /// Returns true if a command or a process is named.
    pub fn follows_a_process(&self) -> bool {
        self.pid.is_some() || self.runs_a_command()
    }
}

/// A tool that records without dyntick.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Tool {
    /// `trace-cmd record`, into trace.dat
    TraceCmd,
    /// `perf record`, and the text of `perf script`, which has the names of functions
    Perf,
}

impl What {
    /// The command of a tool that records the same events on all CPUs.
    ///
    /// # Errors
    /// A name of the file that a shell cannot have.
    pub fn command_of(&self, tool: Tool, file: Option<&Path>, idle: bool) -> Result<String> {
        let named = |default: &str| {
            shell::file(file.unwrap_or(Path::new(default))).map_err(|error| anyhow!("{error}"))
        };
        let command: String = match &self.command[..] {
            // Until Ctrl-C.
            [] => String::new(),
            command => format!(" -- {}", shell::command(command)),
        };
        let kib = self.buffer.next_power_of_two();
        let (events, record) = match tool {
            Tool::TraceCmd => {
                let events = events_of_record(self.system_calls, idle, |_| true);
                (
                    events,
                    format!("trace-cmd record -C mono -b {kib} -o {} $events{command}", named("trace.dat")?),
                )
            }
            Tool::Perf => {
                let file = named("perf.data")?;
                let script = "perf script --ns -F comm,tid,cpu,time,event,trace --show-lost-events";
                let record =
                    format!("perf record -a -k CLOCK_MONOTONIC -m {kib}K -o {file} $events{command}");
                (
                    events_of_record(self.system_calls, idle, perf_may_sample),
                    format!("{record}; {script} -i {file} > {file}.txt"),
                )
            }
        };
        // Kernels differ in their events, and both tools refuse an unknown one.
        Ok(format!(
            "events=$(cd /sys/kernel/tracing/events && for event in {}; do [ -d ${{event%%:*}}/${{event#*:}} ] && printf \
             ' -e %s' $event; done); {record}",
            events.join(" ")
        ))
    }
}

/// Returns true for an event that perf may sample. For those of interrupts that do perf's own work it is refused
/// (arch/x86/include/asm/trace/irq_vectors.h: TRACE_EVENT_PERF_PERM).
fn perf_may_sample(event: &str) -> bool {
    !event.starts_with("irq_vectors:irq_work_")
}

/// The options of a recording, except its destination; `everywhere`: on all CPUs if none is named.
pub fn options(what: &What, everywhere: bool) -> Result<Options> {
    let cpus = match &what.cpus {
        Some(cpus) if cpus.is_empty() => bail!("-C names no CPU"),
        Some(cpus) => cpus.clone(),
        None => set_aside(everywhere)?,
    };
    Ok(Options {
        buffer_kib: what.buffer,
        stacks: what.stacks,
        system_calls: what.system_calls,
        faults: what.pid.is_some() || what.runs_a_command() || everywhere,
        command: what.command.clone(),
        ..Options::new(cpus)
    })
}

/// Records as requested. There is a status if a command ran.
pub fn take(what: &What, options: &Options) -> Result<(Record, Option<ExitStatus>)> {
    let taken = match (what.pid, what.command.is_empty()) {
        (Some(pid), _) => record_process(options, pid).map(|record| (record, None)),
        (None, true) => {
            output::note(format_args!("recording CPU {}; stop with Ctrl-C", options.cpus));
            record_until_interrupted(options).map(|record| (record, None))
        }
        (None, false) => {
            record_command(options, &what.command).map(|(record, status)| (record, Some(status)))
        }
    };
    taken.map_err(|error| match error {
        // The other errors name their remedy.
        RecordError::Session(error @ SessionError::File { .. }) => {
            anyhow::Error::new(error).context(rights())
        }
        other => other.into(),
    })
}

/// The CPUs that are isolated or nohz_full; all, if there are none or all are requested.
fn set_aside(all: bool) -> Result<CpuList> {
    let cpus = Machine::read().context("find out which CPUs to record")?.cpus;
    let aside = cpus.nohz_full.union(&cpus.isolated);
    Ok(if all || aside.is_empty() { cpus.online } else { aside })
}

/// The status of a command as in a shell: 128 plus the signal's number if one ended it.
pub fn as_own(status: Option<ExitStatus>) -> ExitCode {
    ExitCode::from(status.map_or(0, exit_code))
}

/// The privileges that recording needs.
fn rights() -> &'static str {
    "recording needs root, or CAP_SYS_ADMIN to mount tracefs and rights to /sys/kernel/tracing; \
     `dyntick explain FILE` needs neither"
}
