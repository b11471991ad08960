// SPDX-License-Identifier: GPL-2.0-only
//! Runs on disk: one folder each, complete or absent (invariant 9).

mod analysis;
mod files;
mod newest;

pub use crate::names::CONSOLE;
pub use crate::seal::comparable_files;
pub use analysis::Analysis;
pub use analysis::Held;
pub use newest::{Kept, newest, timings};

use crate::names::{OBSERVATIONS, RUN};
use crate::plan::Plan;
use crate::profiles::RunProfile;
use crate::seal::{Opened, Sealer};
use analysis::analyse;
use dyntick_formats::ObservationError;
use dyntick_kernels::cache::CacheError;
use dyntick_trace::DecodeError;
use files::Files;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A complete run, analysed.
#[derive(Clone, Debug)]
pub struct Run {
    /// The folder.
    pub folder: PathBuf,
    /// True if this user's laboratory made it, as its seal says; otherwise it may have come with the study.
    pub made_here: bool,
    /// The plan that it executed.
    pub plan: Plan,
    /// Wall time of each stage, s.
    pub timing: BTreeMap<String, f64>,
    /// Its figures, and what they come from.
    pub analysis: Analysis,
    /// The size of the analysis as text, bytes.
    pub(crate) bytes: u64,
}

/// The reason for which a run cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file operation.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A folder that no run was stored in. It may be anything, so nothing is to be done to it.
    #[error("{path} is not a run of `dyntick lab run`: {reason}")]
    NotARun {
        /// The folder.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A file of the run is missing or unreadable.
    #[error("{path}: {reason}; `dyntick lab run` with its study makes the run again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
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
    /// The runs before it have taken the memory for analyses.
    #[error(
        "{path}: with the runs before it this run does not fit into the memory of this machine: its analysis has \
         {bytes} bytes, and {left} are left; run or report fewer cases of the study"
    )]
    Full {
        /// The run.
        path: PathBuf,
        /// The number of bytes of its analysis.
        bytes: u64,
        /// The number of bytes that were left.
        left: u64,
    },
    /// The table of observations.
    #[error(transparent)]
    Observations(#[from] ObservationError),
}

/// Reads a complete run of any origin and analyses it.
pub fn load(folder: &Path) -> Result<Run, StoreError> {
    load_judged(folder, None)
}

/// Reads a complete run, analysed, and checks its seal. Without a sealer no run counts as made here.
pub fn load_judged(folder: &Path, sealer: Option<&Sealer>) -> Result<Run, StoreError> {
    load_watched(folder, sealer, &|_| ())
}

/// The same; `analysing` is called if the run has no stored analysis that holds, and making one takes long.
fn load_watched(
    folder: &Path,
    sealer: Option<&Sealer>,
    analysing: &dyn Fn(&Path),
) -> Result<Run, StoreError> {
    let opened = opened(folder)?;
    read(folder, &opened, sealer.filter(|sealer| sealer.holds(&opened)), analysing)
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
    let files = Files::of(folder, opened.place());
    let profile = files.profile(&files.plan()?)?;
    Ok((profile, sealer.is_some_and(|sealer| sealer.holds(&opened))))
}

fn opened(folder: &Path) -> Result<Opened, StoreError> {
    let no_run = |reason: &str| StoreError::NotARun { path: folder.to_owned(), reason: reason.to_owned() };
    let opened = Opened::at(folder).map_err(|error| no_run(in_words(error.kind(), &error.to_string())))?;
    if opened.place().join(RUN).symlink_metadata().is_err() {
        return Err(no_run(&format!("it has no {RUN}")));
    }
    Ok(opened)
}

fn in_words(kind: ErrorKind, otherwise: &str) -> &str {
    match kind {
        ErrorKind::NotFound => "there is no such folder",
        ErrorKind::NotADirectory => "it is not a folder",
        _ => otherwise,
    }
}

/// Reads the run in an open folder, which users know by this path. `sealer` is that of a run that was made here.
fn read(
    folder: &Path,
    opened: &Opened,
    sealer: Option<&Sealer>,
    analysing: &dyn Fn(&Path),
) -> Result<Run, StoreError> {
    let files = Files::of(folder, opened.place());
    let (plan, timing) = (files.plan()?, files.timing()?);
    let made_here = sealer.is_some();
    if let Some(stored) = sealer.and_then(|sealer| analysis::read_stored(opened.place(), sealer)) {
        let (folder, analysis, bytes) = (folder.to_owned(), stored.analysis, stored.bytes);
        return Ok(Run { folder, made_here, plan, timing, analysis, bytes });
    }
    analysing(folder);
    let analysis = analyse(&files, &plan)?;
    let json = analysis::text_of(&analysis);
    if let Some(sealer) = sealer {
        // It is only made faster by this, so a file system that is full or read-only does no harm.
        let written = analysis::replace_analysis(opened.place(), sealer, &json);
        let _ = written.map(|()| dyntick_system::give_tree_to_caller(folder));
    }
    let bytes = json.len() as u64;
    Ok(Run { folder: folder.to_owned(), made_here, plan, timing, analysis, bytes })
}

/// Stores the analysis of a run in its folder, which is sealed.
///
/// # Errors
/// A file that cannot be written.
pub fn write_analysis(folder: &Path, run: &Run, sealer: &Sealer) -> Result<(), CacheError> {
    analysis::write_analysis(folder, sealer, &analysis::text_of(&run.analysis))
}

/// The plans of the runs in these folders.
pub fn plans(
    folders: impl IntoIterator<Item = PathBuf>,
) -> impl Iterator<Item = (PathBuf, Result<Plan, StoreError>)> {
    folders.into_iter().map(|folder| {
        let plan = Files::of(&folder, &folder).plan();
        (folder, plan)
    })
}

/// The run of this plan among `runs`, if it is complete and this user's laboratory made it.
pub fn find(runs: &Path, plan: &Plan, sealer: &Sealer) -> Option<Run> {
    let folder = runs.join(plan.folder_name());
    let opened = Opened::at(&folder).ok().filter(|opened| sealer.holds(opened))?;
    let found = Files::of(&folder, opened.place()).plan().ok()?;
    // A folder may have the name of another run.
    let is_it = found.question() == plan.question();
    is_it.then(|| read(&folder, &opened, Some(sealer), &|_| ()).ok()).flatten()
}

#[cfg(test)]
pub(crate) mod tests;
