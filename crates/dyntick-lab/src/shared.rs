// SPDX-License-Identifier: GPL-2.0-only
//! A store of runs that users and machines share: a folder of runs, safe for many writers without a server. A run of
//! another laboratory has no seal that this one knows. It is taken if all that it says of itself holds, and never
//! counts as made here.

use crate::ingest::set_aside;
use crate::names::{OBSERVATIONS, SEAL, SUMS, TIMING};
use crate::plan::Plan;
use crate::running::{RunningFolder, remove_abandoned};
use crate::seal::{LARGEST_RUN, Sealer, close_to_others, comparable_files, sums_of};
use crate::store::{Run, load_judged};
use dyntick_formats::write_parquet;
use dyntick_system::{open_beneath, read_beneath};
use std::fs::{File, create_dir_all};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A shared folder of runs, each in a folder with the name of its plan, complete or absent.
#[derive(Debug)]
pub struct Shared {
    runs: PathBuf,
}

impl Shared {
    /// The store in this folder, which is made where there is none.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub fn at(folder: &Path) -> io::Result<Self> {
        let runs = folder.join("runs");
        create_dir_all(&runs)?;
        remove_abandoned(&runs);
        Ok(Self { runs })
    }

    /// Takes the run of this plan into `runs`, or finds one that was taken before. `None` if there is none.
    ///
    /// # Errors
    /// The reason for which the run in the store is refused. It is renamed there, so that another can take its place.
    pub(crate) fn take(&self, plan: &Plan, runs: &Path, sealer: &Sealer) -> Result<Option<Run>, String> {
        let (kept, offered) = (runs.join(plan.folder_name()), self.runs.join(plan.folder_name()));
        if let Ok(run) = checked(&kept, plan, sealer) {
            return Ok(Some(run));
        }
        if offered.symlink_metadata().is_err() {
            return Ok(None);
        }
        let taken = copied(&offered, runs).and_then(|copy| {
            let run = checked(copy.path(), plan, sealer)?;
            let folder =
                set_aside(&kept).and_then(|()| copy.rename(&kept)).map_err(|error| error.to_string())?;
            Ok(Run { folder, ..run })
        });
        taken.map(Some).inspect_err(|_| drop(set_aside(&offered)))
    }

    /// Stores a copy of a run, unless the store has it.
    ///
    /// # Errors
    /// A store that cannot be written, e.g. because its disk is full. Nothing of the run is left there then.
    pub(crate) fn give(&self, run: &Run) -> Result<(), String> {
        let place = self.runs.join(run.plan.folder_name());
        if place.symlink_metadata().is_ok() {
            return Ok(());
        }
        let copy = copied(&run.folder, &self.runs)?;
        match copy.rename(&place) {
            Err(error) if place.symlink_metadata().is_err() => Err(error.to_string()),
            // Another writer may have stored the same run meanwhile.
            _ => Ok(()),
        }
    }
}

/// Copies the files that the sums of a run name, and those beside them, into a new folder in `place`.
fn copied(run: &Path, place: &Path) -> Result<RunningFolder, String> {
    /// A run has some dozen files.
    const LARGEST: u64 = 1 << 20;
    let sums = read_beneath(run, Path::new(SUMS), LARGEST).map_err(|error| error.to_string())?;
    let sums = String::from_utf8_lossy(&sums);
    let names = sums.lines().filter_map(|line| line.split_once("  ")).map(|(_, name)| name);
    let folder = RunningFolder::new(place).map_err(|error| error.to_string())?;
    let mut left = LARGEST_RUN;
    for name in names.chain([SUMS, TIMING, SEAL]) {
        let copied = copy(run, folder.path(), Path::new(name), left);
        left -= copied.map_err(|error| format!("{}: {error}", run.join(name).display()))?;
    }
    dyntick_system::give_tree_to_caller(folder.path()).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Copies a file of at most `most` bytes, with the folder that it is in. Returns its length.
fn copy(from: &Path, to: &Path, name: &Path, most: u64) -> io::Result<u64> {
    let file = open_beneath(from, name)?;
    let target = to.join(name);
    create_dir_all(target.parent().unwrap_or(to))?;
    let mut target = File::create_new(target)?;
    let length = io::copy(&mut file.take(most.saturating_add(1)), &mut target)?;
    target.sync_all()?;
    if length > most { Err(io::Error::other("the run is larger than any")) } else { Ok(length) }
}

/// The run in this folder, if all that it says of itself holds: it is of this plan, its files have their sums, and its
/// figures are those that this program finds in the guest's own files.
fn checked(folder: &Path, plan: &Plan, sealer: &Sealer) -> Result<Run, String> {
    close_to_others(folder).map_err(|error| error.to_string())?;
    let sums = std::fs::read_to_string(folder.join(SUMS)).map_err(|error| format!("{SUMS}: {error}"))?;
    let files = comparable_files(folder).map_err(|error| error.to_string())?;
    let found = sums_of(&files);
    if found != sums {
        let differs = |line: &&str| !sums.lines().any(|other| other == *line);
        let name = found.lines().find(differs).and_then(|line| line.split_once("  "));
        return Err(format!("{} does not have the sum of {SUMS}", name.map_or("a file", |(_, name)| name)));
    }
    let run = load_judged(folder, Some(sealer)).map_err(|error| error.to_string())?;
    if run.plan.question() != plan.question() {
        return Err("its run.toml has another plan than its name".to_owned());
    }
    let figures = write_parquet(&run.analysis.observations).map_err(|error| error.to_string())?;
    let stored = std::fs::read(folder.join(OBSERVATIONS)).map_err(|error| error.to_string())?;
    if figures != stored {
        return Err(format!("its {OBSERVATIONS} has other figures than the files of its guest"));
    }
    Ok(run)
}

#[cfg(test)]
mod tests;
