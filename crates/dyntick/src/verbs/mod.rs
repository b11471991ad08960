// SPDX-License-Identifier: GPL-2.0-only
//! The verbs: one file each.

mod check;
mod compare;
mod completions;
mod explain;
mod export;
mod guest_packets;
mod guest_probe;
mod idle;
pub mod isolate;
pub mod lab;
mod latency;
mod ledger;
mod record;
mod recording;
mod replay;
mod schema;
mod stat;
mod top;
mod turns;
mod verdict;

use anyhow::Result;
use clap::Subcommand;
use std::process::ExitCode;

/// All verbs.
#[derive(Subcommand)]
pub enum Verb {
    /// Check whether this machine is set up as its kernel command line asks; print evidence and fixes
    Check(check::Arguments),
    /// Compare figures: better, worse or the same? Of runs of studies, and of files of other tools
    Compare(compare::Arguments),
    /// Boot real kernels in virtual machines and measure what interrupts their CPUs
    #[command(subcommand)]
    Lab(lab::LabVerb),
    /// Isolate CPUs while a command runs, report what still interrupted them, and restore all settings
    Isolate(isolate::Arguments),
    /// Count what interrupts CPUs, by cause, while a command runs
    Stat(Box<stat::Arguments>),
    /// Record what happens on some CPUs into one file, while a command runs or until Ctrl-C
    Record(record::Arguments),
    /// Report what interrupted the CPUs of a record, why, and the fix
    Explain(explain::Arguments),
    /// Run idle governors of kernel trees on the idle periods of a record, and compare them
    Replay(replay::Arguments),
    /// Measure wake-up latency as cyclictest does, and report why a wake-up was late
    Latency(Box<latency::Arguments>),
    /// Show the CPUs of this machine and what interrupts them, live
    Top(top::Arguments),
    /// Judge the idle states that CPUs chose: of this machine, or of a dump of its counters
    Idle(idle::Arguments),
    /// Export what interrupts CPUs as metrics for Prometheus
    Export(export::Arguments),
    /// Print the completion script of a shell
    Completions(completions::Arguments),
    /// Print the JSON Schema of what a verb prints with --json, or of study files
    Schema(schema::Arguments),
    /// Write man pages, one for each verb; for packages
    #[command(hide = true)]
    Man(completions::Pages),
    /// Enter the kernel repeatedly by one entry point; for studies that profile a guest
    #[command(hide = true)]
    GuestProbe(guest_probe::Arguments),
    /// Send packets from one CPU to another at chosen gaps and print how late each was received; for studies
    #[command(hide = true)]
    GuestPackets(guest_packets::Arguments),
}

impl Verb {
    /// Returns true if the verb looks at this machine, traces it or changes it. `isolate` itself restores, and reports
    /// more about it.
    fn is_of_this_machine(&self) -> bool {
        match self {
            Verb::Check(_)
            | Verb::Stat(_)
            | Verb::Record(_)
            | Verb::Latency(_)
            | Verb::Top(_)
            | Verb::Export(_) => true,
            Verb::Explain(arguments) => arguments.records(),
            _ => false,
        }
    }

    /// Runs the verb; the status is 0, or 1 if a check failed.
    pub fn run(self) -> Result<ExitCode> {
        if self.is_of_this_machine() {
            isolate::put_leftover_back();
            remove_leftover_traces();
        }
        match self {
            Verb::Check(arguments) => check::run(&arguments),
            Verb::Compare(arguments) => compare::run(&arguments),
            Verb::Isolate(arguments) => isolate::run(&arguments),
            Verb::Lab(verb) => verb.run(),
            Verb::Latency(arguments) => latency::run(&arguments),
            Verb::Stat(arguments) => stat::run(&arguments),
            Verb::Record(arguments) => record::run(&arguments),
            Verb::Explain(arguments) => explain::run(&arguments),
            Verb::Idle(arguments) => idle::run(&arguments),
            Verb::Replay(arguments) => replay::run(&arguments),
            Verb::Export(arguments) => export::run(&arguments),
            Verb::Top(arguments) => top::run(&arguments),
            Verb::Completions(arguments) => completions::run(&arguments),
            Verb::Man(pages) => completions::man(&pages),
            Verb::Schema(arguments) => schema::run(&arguments),
            Verb::GuestProbe(arguments) => guest_probe::run(&arguments),
            Verb::GuestPackets(arguments) => guest_packets::run(&arguments),
        }
    }
}

/// Removes the trace instances of killed dynticks: they cost time on every CPU.
fn remove_leftover_traces() {
    match dyntick_observe::trace::remove_abandoned() {
        0 => {}
        1 => crate::output::note("removed a trace instance in which a killed dyntick still recorded"),
        count => crate::output::note(format_args!(
            "removed {count} trace instances in which a killed dyntick still recorded"
        )),
    }
}
