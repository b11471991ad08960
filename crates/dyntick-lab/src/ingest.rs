// SPDX-License-Identifier: GPL-2.0-only
//! The ingest of a guest's raw output into a stored run: the only writer of runs.

use crate::names::{OBSERVATIONS, RAW, RUN, STOLEN, SUMS, TIMING};
use crate::plan::Plan;
use crate::qemu::Raw;
use crate::running::RunningFolder;
use crate::seal::{Sealer, comparable_files, sums_of};
use crate::store::{Run, StoreError, find, load, write_analysis};
use dyntick_formats::write_parquet;
use dyntick_guest::pieces;
use dyntick_kernels::cache::{CacheError, write_whole};
use dyntick_model::Clock;
use dyntick_study::Case;
use std::collections::BTreeMap;
use std::path::Path;

/// Writes the files that the guest sent into the folder that becomes the run.
///
/// # Errors
/// A file that the case does not yield.
pub fn receive(folder: &Path, raw: &Raw, case: &Case) -> Result<(), StoreError> {
    pieces::check(&raw.archive, case.guest())
        .map_err(|piece| StoreError::Unexpected { piece, case: case.id.clone() })?;
    for (name, bytes) in &raw.archive.0 {
        write_whole(&folder.join(RAW).join(name), bytes)?;
    }
    Ok(())
}

/// Analyses, seals and stores a run: `folder` holds the console and the guest's files, and becomes the run in `runs`.
///
/// # Errors
/// Files that cannot be analysed or written.
pub fn keep(
    runs: &Path,
    folder: RunningFolder,
    plan: &Plan,
    raw: &Raw,
    sealer: &Sealer,
) -> Result<Run, StoreError> {
    let path = folder.path();
    let timing: BTreeMap<String, f64> =
        raw.stages.iter().map(|(stage, time)| (stage.to_string(), time.as_secs_f64())).collect();
    let damaged = |file: &str, reason: String| StoreError::Damaged { path: path.join(file), reason };
    let text = toml::to_string_pretty(plan).map_err(|error| damaged(RUN, error.to_string()))?;
    write_whole(&path.join(RUN), text.as_bytes())?;
    let json = serde_json::to_vec_pretty(&timing).map_err(|error| damaged(TIMING, error.to_string()))?;
    write_whole(&path.join(TIMING), &json)?;
    if plan.case.clock == Clock::Wall {
        let json =
            serde_json::to_vec_pretty(&raw.stolen).map_err(|error| damaged(STOLEN, error.to_string()))?;
        write_whole(&path.join(STOLEN), &json)?;
    }
    let run = load(path)?;
    write_whole(&path.join(OBSERVATIONS), &write_parquet(&run.analysis.observations)?)?;
    let files = comparable_files(path).map_err(|error| CacheError::from_io(path, error))?;
    write_whole(&path.join(SUMS), sums_of(&files).as_bytes())?;
    sealer.seal(path)?;
    write_analysis(path, &run, sealer)?;
    let place = runs.join(plan.folder_name());
    if let Some(earlier) = find(runs, plan, sealer) {
        // Another process stored the same run meanwhile.
        return Ok(earlier);
    }
    set_aside(&place)?;
    let folder = folder.rename(&place)?;
    dyntick_system::give_tree_to_caller(&folder).map_err(|error| CacheError::from_io(&folder, error))?;
    Ok(Run { folder, made_here: true, ..run })
}

/// Renames anything at the run's path that is not this user's complete run. Its new name says so, for the user to
/// look into.
pub(crate) fn set_aside(place: &Path) -> Result<(), CacheError> {
    // A dangling link is in the way as well.
    if place.symlink_metadata().is_err() {
        return Ok(());
    }
    let what = if load(place).is_ok() { "another" } else { "damaged" };
    let aside = |number: u32| place.with_extension(format!("{what}-{number}"));
    let free = (1..).map(aside).find(|name| !name.exists()).unwrap_or_else(|| aside(0));
    std::fs::rename(place, free).map_err(|error| CacheError::from_io(place, error))
}
