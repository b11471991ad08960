// SPDX-License-Identifier: GPL-2.0-only
//! Disturbances of one CPU, each of a single kind: what `explain` is tested with, on real kernels.
//!
//! A task that computes, the victim, runs on the CPU; something then disturbs it for a moment. They
//! change settings for good and are meant for guests.

mod kernel;
mod memory;
mod polling;
mod stage;
mod tasks;
mod threads;
mod timers;

use anyhow::{Context, Result};
use clap::Args;
use dyntick_agent::pin;
use stage::{Stage, others};

/// The arguments of `disturb` and of `explain`.
#[derive(Args)]
pub struct Arguments {
    /// Disturbances [default: all]
    names: Vec<String>,
    /// CPU to disturb
    #[arg(short = 'C', long, value_name = "CPU")]
    pub cpu: u32,
    /// Disturb for MS ms
    #[arg(long, value_name = "MS", default_value_t = 300)]
    pub ms: u64,
}

impl Arguments {
    /// The names that were given, or all.
    pub fn names(&self) -> Vec<String> {
        if self.names.is_empty() { names().map(str::to_owned).collect() } else { self.names.clone() }
    }
}

/// Disturbs a CPU in each way, one after the other.
pub fn run_all(arguments: &Arguments) -> Result<()> {
    keep_off(arguments.cpu)?;
    arguments.names().iter().try_for_each(|name| run(name, arguments.cpu, arguments.ms))
}

/// A disturbance by its name.
type Disturbance = (&'static str, fn(&Stage) -> Result<()>);

const ALL: &[&[Disturbance]] =
    &[tasks::ALL, timers::ALL, memory::ALL, kernel::ALL, threads::ALL, polling::ALL];

/// The names of all disturbances.
fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().copied().flatten().map(|(name, _)| *name)
}

/// Keeps this thread, and the programs that it starts, off a CPU.
///
/// # Errors
/// There is no other CPU.
pub fn keep_off(cpu: u32) -> Result<()> {
    pin(&others(cpu)?)
}

/// Disturbs a CPU for this many ms, from another one.
///
/// # Errors
/// A name that there is not, or a kernel that refuses.
fn run(name: &str, cpu: u32, ms: u64) -> Result<()> {
    let (_, disturb) = ALL.iter().copied().flatten().find(|(own, _)| *own == name).with_context(|| {
        format!("there is no disturbance '{name}'; there are {}", names().collect::<Vec<_>>().join(", "))
    })?;
    let stage = Stage::new(cpu, ms)?;
    disturb(&stage).with_context(|| name.to_owned())
}
