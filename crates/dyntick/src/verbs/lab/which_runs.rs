// SPDX-License-Identifier: GPL-2.0-only
//! Runs as they are named on the command line: by their folders, or all of a study that are in its usual folder.

use super::again::kept;
use anyhow::{Context, Result, bail};
use dyntick_lab::lab::Place;
use dyntick_lab::store::Run;
use dyntick_report::numbers;
use dyntick_study::{Size, shipped};
use std::path::{Path, PathBuf};

/// The runs that a verb can use.
pub struct Wants {
    /// Returns true for one of them.
    pub is_one: fn(&Run) -> bool,
    /// Their property, e.g. "with `profile = true`".
    pub with: &'static str,
}

/// The folders of the runs that `named` means: a run, or for a study the newest run of each case that `wants` accepts,
/// in the folder that `lab run --out` had if it is not the usual one.
pub fn folders(named: &Path, out: Option<&Path>, wants: &Wants) -> Result<Vec<PathBuf>> {
    let is_study_file = named.extension().is_some_and(|extension| extension == "toml");
    if named.is_dir() || (shipped::is_path(named) && !is_study_file) {
        return Ok(vec![named.to_owned()]);
    }
    let study = shipped::find(named, Size::Scaled)
        .with_context(|| format!("{} is neither the folder of a run nor a study", named.display()))?;
    let place = Place::of(out, &study.name).runs();
    let runs: Vec<Run> = kept(&study, &place).into_iter().filter_map(|result| result.run.ok()).collect();
    let kept = runs.len();
    let folders: Vec<PathBuf> = runs.into_iter().filter(wants.is_one).map(|run| run.folder).collect();
    if folders.is_empty() && kept > 0 {
        bail!(
            "{} has {}, and none {}",
            place.display(),
            numbers::counted(kept as u64, "run of the study"),
            wants.with
        );
    }
    if folders.is_empty() {
        bail!(
            "{} has no such run of the study as it is now; to run it: dyntick lab run {}{}",
            place.display(),
            named.display(),
            out.map_or(String::new(), |out| format!(" --out {}", out.display()))
        );
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Wants = Wants { is_one: |_| true, with: "at all" };

    fn named(text: &str) -> Result<Vec<PathBuf>> {
        folders(Path::new(text), None, &ANY)
    }

    #[test]
    fn a_folder_is_itself_and_a_study_is_its_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(named(path).unwrap(), [folder.path()]);
        assert_eq!(
            named("out/x/runs/none").unwrap(),
            [Path::new("out/x/runs/none")],
            "its reader says what is wrong"
        );
        let error = named("adaptive-ticks").unwrap_err().to_string();
        assert!(error.starts_with("out/adaptive-ticks/runs has no such run"), "{error}");
        let elsewhere =
            folders(Path::new("adaptive-ticks"), Some(folder.path()), &ANY).unwrap_err().to_string();
        assert!(elsewhere.ends_with(&format!("dyntick lab run adaptive-ticks --out {path}")), "{elsewhere}");
        let error = format!("{:#}", named("adaptive-tick").unwrap_err());
        assert!(
            error.starts_with("adaptive-tick is neither the folder of a run nor a study: no study"),
            "{error}"
        );
        assert!(error.contains("did you mean 'adaptive-ticks'?"), "{error}");
    }
}
