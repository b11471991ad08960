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
use dyntick_model::CpuList;
use stage::Stage;

/// A disturbance by its name.
type Disturbance = (&'static str, fn(&Stage) -> Result<()>);

const ALL: &[&[Disturbance]] =
    &[tasks::ALL, timers::ALL, memory::ALL, kernel::ALL, threads::ALL, polling::ALL];

/// The names of all disturbances.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().copied().flatten().map(|(name, _)| *name)
}

/// Keeps this thread, and the programs that it starts, off a CPU.
///
/// # Errors
/// There is no other CPU.
pub fn keep_off(cpu: u32) -> Result<()> {
    super::settle::keep_off(&CpuList::from_iter([cpu]))
}

/// Disturbs a CPU for this many ms, from another one.
///
/// # Errors
/// A name that there is not, or a kernel that refuses.
pub fn run(name: &str, cpu: u32, ms: u64) -> Result<()> {
    let (_, disturb) = ALL.iter().copied().flatten().find(|(own, _)| *own == name).with_context(|| {
        format!("there is no disturbance '{name}'; there are {}", names().collect::<Vec<_>>().join(", "))
    })?;
    let stage = Stage::new(cpu, ms)?;
    disturb(&stage).with_context(|| name.to_owned())
}
