// SPDX-License-Identifier: GPL-2.0-only
//! The file of a run's analysis: it is read only as this user's laboratory wrote it with this very program. Without it
//! a run is complete too, and is analysed again.

use super::analysis::Analysis;
use crate::names::ANALYSIS;
use crate::running::RunningFolder;
use crate::seal::Sealer;
use dyntick_kernels::cache::{CacheError, write_whole};
use dyntick_system::read_beneath;
use std::path::Path;

/// A run with a larger analysis is analysed for each reader, bytes.
const LARGEST: u64 = 256 << 20;

/// The analysis with its size in bytes.
pub(super) struct Sized {
    pub(super) analysis: Analysis,
    pub(super) bytes: u64,
}

/// The stored analysis of a run that this user sealed.
pub(super) fn read(place: &Path, sealer: &Sealer) -> Option<Sized> {
    let file = read_beneath(place, Path::new(ANALYSIS), LARGEST).ok()?;
    let newline = file.iter().position(|byte| *byte == b'\n')?;
    let (seal, json) = (&file[..newline], &file[newline + 1..]);
    if !sealer.holds_analysis(place, seal, json) {
        return None;
    }
    let analysis = serde_json::from_slice(json).ok()?;
    Some(Sized { analysis, bytes: json.len() as u64 })
}

/// The text of an analysis.
pub(super) fn text(analysis: &Analysis) -> Vec<u8> {
    serde_json::to_vec(analysis).expect("plain data")
}

/// Stores the text of an analysis in the folder of its run, which no other process reads yet.
pub(super) fn write(place: &Path, sealer: &Sealer, json: &[u8]) -> Result<(), CacheError> {
    write_to(place, place, sealer, json).map(drop)
}

/// Replaces the analysis of a stored run. The new file is made beside the run's folder: in it the seal of the run would
/// not hold meanwhile.
pub(super) fn replace(place: &Path, sealer: &Sealer, json: &[u8]) -> Result<(), CacheError> {
    let beside = RunningFolder::new(&place.join(".."))?;
    if !write_to(beside.path(), place, sealer, json)? {
        return Ok(());
    }
    let file = place.join(ANALYSIS);
    std::fs::rename(beside.path().join(ANALYSIS), &file).map_err(|error| CacheError::from_io(&file, error))
}

/// Returns false if it is not stored: no reader would take it, or the program's own file cannot be read.
fn write_to(folder: &Path, place: &Path, sealer: &Sealer, json: &[u8]) -> Result<bool, CacheError> {
    let Some(seal) = sealer.seal_analysis(place, json) else { return Ok(false) };
    let file = [seal.as_bytes(), b"\n", json].concat();
    if file.len() as u64 > LARGEST {
        return Ok(false);
    }
    write_whole(&folder.join(ANALYSIS), &file).map(|()| true)
}
