// SPDX-License-Identifier: GPL-2.0-only
//! Stores with runs of another laboratory, true and poisoned ones.

use super::*;
use crate::names::RAW;
use crate::store::load;
use crate::store::tests::{ASKED, run, unchanged};
use dyntick_kernels::cache::Cache;
use std::fs::{read, read_dir, read_to_string, remove_file, write};
use std::os::unix::fs::symlink;

/// Two laboratories and a store in a folder of their own.
struct Place {
    folder: tempfile::TempDir,
    plan: Plan,
    mine: Sealer,
    theirs: Sealer,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sealer = |name: &str| Sealer::of(&Cache::at(folder.path().join(name))).unwrap();
        let (mine, theirs) = (sealer("mine"), sealer("theirs"));
        let plan = toml::from_str(&format!("repetition = 0{ASKED}")).unwrap();
        Self { folder, plan, mine, theirs }
    }

    fn runs(&self, name: &str) -> PathBuf {
        self.folder.path().join(name).join("runs")
    }

    fn store(&self) -> Shared {
        Shared::at(&self.folder.path().join("store")).unwrap()
    }

    /// Stores their run.
    fn stored(&self) -> PathBuf {
        let folder = self.runs("theirs").join(self.plan.folder_name());
        run(&folder, 0, unchanged);
        let figures = load(&folder).unwrap().analysis.observations;
        write(folder.join(OBSERVATIONS), write_parquet(&figures).unwrap()).unwrap();
        sum(&folder);
        self.theirs.seal(&folder).unwrap();
        self.store().give(&load(&folder).unwrap()).unwrap();
        self.runs("store").join(self.plan.folder_name())
    }

    fn take(&self) -> Result<Option<Run>, String> {
        std::fs::create_dir_all(self.runs("mine")).unwrap();
        self.store().take(&self.plan, &self.runs("mine"), &self.mine)
    }
}

fn sum(run: &Path) {
    write(run.join(SUMS), sums_of(&comparable_files(run).unwrap())).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn run_of_another_laboratory_is_taken_and_never_counts_as_made_here() {
    let place = Place::new();
    assert!(place.take().unwrap().is_none(), "the store is empty");
    let stored = place.stored();
    let taken = place.take().unwrap().unwrap();
    assert!(!taken.made_here);
    assert_eq!(taken.folder, place.runs("mine").join(place.plan.folder_name()));
    assert_eq!(comparable_files(&taken.folder).unwrap(), comparable_files(&stored).unwrap());
    std::fs::remove_dir_all(stored).unwrap();
    assert!(!place.take().unwrap().unwrap().made_here, "it was taken before");
    place.store().give(&taken).unwrap();
    assert_eq!(names(&place.runs("store")), [place.plan.folder_name()]);
}

#[test]
fn own_run_of_the_store_counts_as_made_here() {
    let place = Place::new();
    place.stored();
    let own = place.store().take(&place.plan, &place.runs("elsewhere"), &place.theirs);
    assert!(own.unwrap().unwrap().made_here);
}

#[test]
fn run_that_does_not_hold_is_refused_and_gives_way() {
    type Poison = fn(&Path);
    let poisons: [(&str, Poison); 8] = [
        ("raw/comms.json does not have the sum", |run| {
            write(run.join(RAW).join("comms.json"), "{ }").unwrap()
        }),
        ("raw/more does not have the sum", |run| {
            write(run.join(RAW).join("more"), "").unwrap();
            let sums = read_to_string(run.join(SUMS)).unwrap();
            write(run.join(SUMS), format!("{sums}{:064}  raw/more\n", 0)).unwrap();
        }),
        ("another plan than its name", |run| {
            let text = read_to_string(run.join("run.toml")).unwrap();
            write(run.join("run.toml"), text.replace("hz = 250", "hz = 1000")).unwrap();
            sum(run);
        }),
        ("has other figures than the files of its guest", |run| {
            let mut bytes = read(run.join(OBSERVATIONS)).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            write(run.join(OBSERVATIONS), bytes).unwrap();
            sum(run);
        }),
        (SUMS, |run| remove_file(run.join(SUMS)).unwrap()),
        ("raw/comms.json", |run| {
            remove_file(run.join("raw/comms.json")).unwrap();
            symlink("/dev/zero", run.join("raw/comms.json")).unwrap();
        }),
        ("out of the folder", |run| {
            let sums = read_to_string(run.join(SUMS)).unwrap();
            write(run.join(SUMS), format!("{sums}{:064}  ../../mine/seal.secret\n", 0)).unwrap();
        }),
        ("raw/outcome.json", |run| {
            write(run.join("raw/outcome.json"), "{").unwrap();
            sum(run);
        }),
    ];
    for (reason, poison) in poisons {
        let place = Place::new();
        let stored = place.stored();
        poison(&stored);
        let refused = place.take().unwrap_err();
        assert!(refused.contains(reason), "{reason}: {refused}");
        assert!(names(&place.runs("mine")).is_empty(), "{reason}: {:?}", names(&place.runs("mine")));
        assert!(place.take().unwrap().is_none(), "{reason}: it has given way");
        assert!(stored.symlink_metadata().is_err());
    }
}

#[test]
fn store_has_nothing_of_a_run_that_could_not_be_copied() {
    let (place, other) = (Place::new(), Place::new());
    let run = load(&place.stored()).unwrap();
    remove_file(run.folder.join(TIMING)).unwrap();
    let error = other.store().give(&run).unwrap_err();
    assert!(error.contains(TIMING), "{error}");
    assert!(names(&other.runs("store")).is_empty());
}
