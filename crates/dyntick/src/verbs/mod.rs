// SPDX-License-Identifier: GPL-2.0-only
//! The verbs: one file each.

mod check;
mod compare;
mod explain;
mod guest_apply;
mod guest_disturb;
mod guest_fix;
mod guest_packets;
mod guest_probe;
pub mod isolate;
mod lab;
mod latency;
mod record;
mod stat;
mod top;

use anyhow::Result;
use clap::Subcommand;
use std::process::ExitCode;

/// All verbs.
#[derive(Subcommand)]
pub enum Verb {
    /// Is this machine set up for what its command line asks? Findings, each with evidence and fix
    Check(check::Arguments),
    /// Are these figures better than those, worse or the same? Runs of studies, and files of other tools
    Compare(compare::Arguments),
    /// Boot real kernels in virtual machines and measure what interrupts their CPUs
    #[command(subcommand)]
    Lab(lab::LabVerb),
    /// Make CPUs quiet for the time of a command, show that they were, and put everything back
    Isolate(isolate::Arguments),
    /// Count what interrupts CPUs, by cause, while a command runs
    Stat(Box<stat::Arguments>),
    /// Record what happens on some CPUs, for a command's time or until Ctrl-C, into one file
    Record(record::Arguments),
    /// Tell what interrupted the CPUs of a record, why, and what fixes it
    Explain(explain::Arguments),
    /// Measure wake-up latency as cyclictest does, and tell why a wake-up was late
    Latency(Box<latency::Arguments>),
    /// Disturb a CPU in one known way; for `explain` to be tested with in a guest
    #[command(hide = true)]
    GuestDisturb(guest_disturb::Arguments),
    /// Disturb a CPU in known ways and try what `explain` advises against each; for a guest
    #[command(hide = true)]
    GuestFix(guest_fix::Arguments),
    /// Do what `check` says, to the letter, and check again; for a guest
    #[command(hide = true)]
    GuestApply(guest_apply::Arguments),
    /// The CPUs of this machine and what interrupts them, live
    Top(top::Arguments),
    /// Enter the kernel in one way, again and again; for studies to profile in a guest
    #[command(hide = true)]
    GuestProbe(guest_probe::Arguments),
    /// Send packets from one CPU to another at chosen gaps and print how late each was received; for studies
    #[command(hide = true)]
    GuestPackets(guest_packets::Arguments),
}

impl Verb {
    /// Does what was asked; the status is 0, or 1 where a check failed.
    pub fn run(self) -> Result<ExitCode> {
        // `isolate` itself says more about it.
        if !matches!(self, Verb::Isolate(_) | Verb::GuestProbe(_)) {
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
            Verb::GuestDisturb(arguments) => guest_disturb::run(&arguments),
            Verb::GuestFix(arguments) => guest_fix::run(&arguments),
            Verb::GuestApply(arguments) => guest_apply::run(&arguments),
            Verb::Top(arguments) => top::run(&arguments),
            Verb::GuestProbe(arguments) => guest_probe::run(&arguments),
            Verb::GuestPackets(arguments) => guest_packets::run(&arguments),
        }
    }
}

/// What a killed dyntick records goes on at the cost of every CPU, whatever verb it was.
fn remove_leftover_traces() {
    match dyntick_observe::trace::remove_abandoned() {
        0 => {}
        1 => crate::output::note("removed a trace instance in which a killed dyntick still recorded"),
        count => crate::output::note(format_args!(
            "removed {count} trace instances in which a killed dyntick still recorded"
        )),
    }
}
