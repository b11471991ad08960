// SPDX-License-Identifier: GPL-2.0-only
//! Runs on disk: one folder each, complete or absent (invariant 9).

mod analysis;
mod distinct;
mod files;
mod newest;

pub use crate::compared::comparable_files;
pub use crate::names::CONSOLE;
pub use distinct::Distinct;
pub use newest::{Kept, newest, timings};

use crate::budget::{Amounts, Budget, Spent};
use crate::idle::RunIdle;
use crate::latency::Latency;
use crate::names::OBSERVATIONS;
use crate::observations::Observations;
use crate::opened::Opened;
use crate::plan::Plan;
use crate::printed::Printed;
use crate::profiles::RunProfile;
use crate::seal::Sealer;
use analysis::read;
use dyntick_explain::Explanation;
use dyntick_formats::ObservationError;
use dyntick_guest::Outcome;
use dyntick_kernels::cache::CacheError;
use dyntick_trace::DecodeError;
use files::Files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A complete run, explained.
#[derive(Clone, Debug)]
pub struct Run {
    /// The folder.
    pub folder: PathBuf,
    /// True if this user's laboratory made it, as its seal says; otherwise it may have come with the study.
    pub made_here: bool,
    /// The plan that it executed.
    pub plan: Plan,
    /// The agent's report.
    pub outcome: Outcome,
    /// The interruptions of each CPU and their causes. Single interruptions are kept only for the measured CPUs and
    /// timers, without chains, functions and evidence.
    pub explanation: Explanation,
    /// The idle states, if the guest has any.
    pub idle: Option<RunIdle>,
    /// Wake-up latencies, where a cyclictest printed them.
    pub latency: Option<Latency>,
    /// The output of other tools.
    pub printed: Printed,
    /// The executed instructions, where they were recorded.
    pub profile: Option<RunProfile>,
    /// All figures.
    pub observations: Observations,
    /// Trace events that were lost, by CPU.
    pub lost_events: BTreeMap<u32, u64>,
    /// Trace records that were not understood.
    pub undecoded: u64,
    /// Trace events that the kernel does not have.
    pub missing_events: Vec<String>,
    /// Wall time of each stage, s.
    pub timing: BTreeMap<String, f64>,
    /// The memory that it takes among runs that are held at once.
    pub takes: Amounts,
}

impl Run {
    /// The run, held next to others, if there is memory left for it.
    ///
    /// # Errors
    /// [`StoreError::Spent`] if there is none.
    pub fn within(self, budget: &Budget) -> Result<Self, StoreError> {
        match budget.take(self.takes) {
            Ok(()) => Ok(self),
            Err(spent) => Err(StoreError::Spent { path: self.folder, spent }),
        }
    }
}

/// The reason for which a run cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file operation.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A file of the run is missing or unreadable.
    #[error("{path}: {reason}; remove the run's folder and run the study again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A link to a run, or to a file of it.
    #[error("{path} and {other} are the same file, and no run shares its files; remove one of the two runs")]
    Shared {
        /// The file or folder.
        path: PathBuf,
        /// The same one, in another run.
        other: PathBuf,
    },
    /// The guest sent what it was not asked for.
    #[error("the guest sent a file named '{piece}', which the case '{case}' does not yield")]
    Unexpected {
        /// The name of the file.
        piece: String,
        /// The case's id.
        case: String,
    },
    /// The trace.
    #[error("{path}: the run's trace cannot be decoded: {source}")]
    Decode {
        /// The run.
        path: PathBuf,
        /// The error.
        source: DecodeError,
    },
    /// The trace is complete, and too long for this machine.
    #[error(
        "{path}: the run's trace has {events} events, and the memory of this machine is enough for {most}: shorten \
         `measure`, or list only the CPUs of interest in `trace-cpus`"
    )]
    TooManyEvents {
        /// The run.
        path: PathBuf,
        /// The number of its events.
        events: u64,
        /// The number of events that could be explained.
        most: u64,
    },
    /// The runs before it have taken what there is memory for.
    #[error(
        "{path}: with the runs before it this run does not fit into the memory of this machine: {spent}; run or \
         report fewer cases of the study"
    )]
    Spent {
        /// The run.
        path: PathBuf,
        /// The resource.
        spent: Spent,
    },
    /// The table of observations.
    #[error(transparent)]
    Observations(#[from] ObservationError),
}

/// Reads a complete run of any origin and explains it.
pub fn load(folder: &Path) -> Result<Run, StoreError> {
    load_judged(folder, None)
}

/// Reads a complete run and checks its seal. Without a sealer no run counts as made here.
pub fn load_judged(folder: &Path, sealer: Option<&Sealer>) -> Result<Run, StoreError> {
    load_within(folder, sealer, &Budget::of_one())
}

/// The profile of a run, where it has one, and whether the run was made here.
///
/// # Errors
/// Where the run or its profile cannot be read.
pub fn profile_judged(
    folder: &Path,
    sealer: Option<&Sealer>,
) -> Result<(Option<RunProfile>, bool), StoreError> {
    let opened = opened(folder)?;
    let budget = Budget::of_one();
    let files = Files { folder, place: opened.place(), budget: &budget };
    let profile = files.profile(&files.plan()?)?;
    Ok((profile, sealer.is_some_and(|sealer| sealer.holds(&opened))))
}

/// The same as [`load_judged`], for a run that is held next to others.
fn load_within(folder: &Path, sealer: Option<&Sealer>, budget: &Budget) -> Result<Run, StoreError> {
    let opened = opened(folder)?;
    let run = budget.spend(|budget| read(folder, &opened, budget))?;
    Ok(Run { made_here: sealer.is_some_and(|sealer| sealer.holds(&opened)), ..run })
}

fn opened(folder: &Path) -> Result<Opened, StoreError> {
    let damaged =
        |error: std::io::Error| StoreError::Damaged { path: folder.to_owned(), reason: error.to_string() };
    Opened::at(folder).map_err(damaged)
}

/// The plans of the runs in these folders, within one limit of memory for all.
pub fn plans(
    folders: impl IntoIterator<Item = PathBuf>,
) -> impl Iterator<Item = (PathBuf, Result<Plan, StoreError>)> {
    // Ten thousand runs have a fourth of it; many links to one are a small archive.
    let budget = Budget::new(0, 256 << 20, 0);
    folders.into_iter().map(move |folder| {
        let plan = Files { folder: &folder, place: &folder, budget: &budget }.plan();
        (folder, plan)
    })
}

/// The run of this plan among `runs`, if it is complete and this user's laboratory made it.
pub fn find(runs: &Path, plan: &Plan, sealer: &Sealer) -> Option<Run> {
    let folder = runs.join(plan.folder_name());
    let opened = Opened::at(&folder).ok().filter(|opened| sealer.holds(opened))?;
    let budget = Budget::of_one();
    let found = Files { folder: &folder, place: opened.place(), budget: &budget }.plan().ok()?;
    // A folder may have the name of another run.
    let is_it = found.question() == plan.question();
    is_it.then(|| read(&folder, &opened, &budget).ok()).flatten().map(|run| Run { made_here: true, ..run })
}

#[cfg(test)]
mod tests;
