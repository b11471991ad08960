// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick guest-probe`: enters the kernel by one entry point, for a study to profile.

use anyhow::Result;
use clap::Args;
use dyntick_agent::probe::{self, Probe};
use std::process::ExitCode;
use std::time::Instant;

/// The arguments of `dyntick guest-probe`.
#[derive(Args)]
pub struct Arguments {
    /// Entry point of the kernel
    kind: Kind,
    /// CPU to run on
    #[arg(short = 'C', long, value_name = "CPU")]
    cpu: u32,
    /// Enter the kernel N times
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    count: u64,
    /// Print the total time, in ns of CLOCK_MONOTONIC
    #[arg(long)]
    time: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    Syscall,
    PageFault,
    Timer,
    Ipi,
    All,
}

/// Enters the kernel.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let probe = match arguments.kind {
        Kind::Syscall => Probe::Syscall,
        Kind::PageFault => Probe::PageFault,
        Kind::Timer => Probe::Timer,
        Kind::Ipi => Probe::Ipi,
        Kind::All => Probe::All,
    };
    let begin = Instant::now();
    probe::run(probe, arguments.cpu, arguments.count)?;
    if arguments.time {
        crate::output::line(begin.elapsed().as_nanos())?;
    }
    Ok(ExitCode::SUCCESS)
}
