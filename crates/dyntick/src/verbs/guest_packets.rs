// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick guest-packets`: packets from one CPU to another, for a study to measure.

use anyhow::Result;
use clap::Args;
use dyntick_agent::packets::{self, Gaps, Packets};
use dyntick_model::units::Nanos;
use std::process::ExitCode;

/// The arguments of `dyntick guest-packets`.
#[derive(Args)]
pub struct Arguments {
    /// Time between packets: 500us, poisson:500us (the mean), uniform:600us-900us
    #[arg(value_name = "GAPS")]
    gaps: Gaps,
    /// Send N packets
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    count: u32,
    /// CPU of the sender
    #[arg(long, value_name = "CPU")]
    from: u32,
    /// CPU of the receiver
    #[arg(long, value_name = "CPU")]
    to: u32,
    /// Wait TIME after the last packet
    #[arg(long, value_name = "TIME", default_value = "0s")]
    silence: Nanos,
    /// Let the receiver wait in ppoll(2) for at most TIME at a time, so that its CPU has a timer
    #[arg(long, value_name = "TIME")]
    timeout: Option<Nanos>,
    /// Seed of the random gaps
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Sends the packets.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { gaps, count, from, to, silence, timeout, seed } = *arguments;
    packets::run(Packets {
        gaps,
        count,
        silence_ns: silence.0,
        timeout_ns: timeout.map(|ns| ns.0),
        seed,
        from,
        to,
    })?;
    Ok(ExitCode::SUCCESS)
}
