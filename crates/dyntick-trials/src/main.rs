// SPDX-License-Identifier: GPL-2.0-only
//! The program that the end-to-end tests copy into guests: it disturbs CPUs in known ways, and applies the fixes that
//! dyntick prints. It is no part of what is shipped.

mod apply;
mod disturb;
mod explained;
mod fix;
mod product;

use anyhow::Result;
use clap::Parser;

/// Disturb a CPU in known ways, and try what dyntick says against it. It changes settings for good: for guests.
#[derive(Parser)]
enum Trials {
    /// Disturb a CPU in each of these ways
    Disturb(disturb::Arguments),
    /// Disturb a CPU in each of these ways, and print what `dyntick explain` says of each as a line of JSON
    Explain(disturb::Arguments),
    /// Disturb a CPU and try each fix that `dyntick explain` prints
    Fix(fix::Arguments),
    /// Apply the fixes of `dyntick check` exactly as printed, and check again
    Apply(apply::Arguments),
}

fn main() -> Result<()> {
    match Trials::parse() {
        Trials::Disturb(arguments) => disturb::run_all(&arguments),
        Trials::Explain(arguments) => explained::run(&arguments),
        Trials::Fix(arguments) => fix::run(&arguments),
        Trials::Apply(arguments) => apply::run(&arguments),
    }
}
