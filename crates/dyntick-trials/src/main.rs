// SPDX-License-Identifier: GPL-2.0-only
//! The program that the end-to-end tests copy into guests: it disturbs CPUs in known ways, and applies the fixes that
//! dyntick prints. It is no part of what is shipped.

mod apply;
mod disturb;
mod explained;
mod fix;
mod probed;
mod product;

use anyhow::Result;
use clap::Parser;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Disturb a CPU in known ways, and try what dyntick says against it. It changes settings for good: for guests.
#[derive(Parser)]
enum Trials {
    /// Disturb a CPU in each of these ways
    Disturb(disturb::Arguments),
    /// Disturb a CPU in each of these ways, and print what `dyntick explain` says of each as a line of JSON
    Explain(disturb::Arguments),
    /// Print what `dyntick explain` says of a CPU in each of these traces as a line of JSON
    ExplainFiles {
        /// CPU to explain
        #[arg(short = 'C', long, value_name = "CPU")]
        cpu: u32,
        /// Traces
        files: Vec<String>,
    },
    /// Disturb a CPU and try each fix that `dyntick explain` prints
    Fix(fix::Arguments),
    /// Apply the fixes of `dyntick check` exactly as printed, and check again
    Apply(apply::Arguments),
    /// Compute until this is killed, which costs an emulator little
    Spin,
    /// Probe functions of this program by a BPF link, and call them until this is killed
    Probed,
    /// Execute a command by a thread that is not the first of its process
    Exec {
        /// The command, with its arguments
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<String>,
    },
}

fn main() -> Result<()> {
    match Trials::parse() {
        Trials::Disturb(arguments) => disturb::run_all(&arguments),
        Trials::Explain(arguments) => explained::run(&arguments),
        Trials::ExplainFiles { cpu, files } => explained::run_files(cpu, &files),
        Trials::Fix(arguments) => fix::run(&arguments),
        Trials::Apply(arguments) => apply::run(&arguments),
        Trials::Spin => loop {
            dyntick_agent::spin_block();
        },
        Trials::Probed => match probed::run()? {},
        Trials::Exec { command } => {
            let exec = move || Command::new(&command[0]).args(&command[1..]).exec();
            let error = std::thread::spawn(exec).join().expect("the thread does not panic");
            Err(error.into())
        }
    }
}
