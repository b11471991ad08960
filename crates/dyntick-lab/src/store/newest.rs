// SPDX-License-Identifier: GPL-2.0-only
//! The newest runs of the cases of a study.

use super::asked::is_of;
use super::{OBSERVATIONS, Run, StoreError, asked, load_within};
use crate::budget::Budget;
use crate::seal::Sealer;
use crate::study::Case;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What is kept of a case and repetition.
#[derive(Debug)]
pub struct Kept {
    /// Which of the cases.
    pub case: usize,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// The run, or why the newest cannot be read and no older one can.
    pub run: Result<Run, StoreError>,
}

/// The newest whole run of each of these cases and repetitions among `runs`, whatever machine, image and
/// kernel it had. Older ones stand there too when this program or a kernel has changed meanwhile. Where nothing is
/// known of seals, no run is known to be made here. All of them are held at once, within one budget.
pub fn newest(runs: &Path, cases: &[Case], sealer: Option<&Sealer>) -> Vec<Kept> {
    let budget = Budget::of_many();
    read_chosen(&chosen(runs, cases), cases, &|folder| load_within(folder, sealer, &budget))
}

/// Folders by case and repetition, and by when they became whole.
pub(super) type Chosen = BTreeMap<(usize, u32), BTreeMap<SystemTime, PathBuf>>;

/// The folders that say of themselves that they are runs of these cases.
pub(super) fn chosen(runs: &Path, cases: &[Case]) -> Chosen {
    let mut found = Chosen::new();
    for folder in std::fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified());
        let (Ok(asked), Ok(time)) = (asked(&folder), modified(&folder.join(OBSERVATIONS))) else { continue };
        let wanted = |case: &Case| is_of(case, &asked) && asked.repetition < case.runs();
        if let Some(number) = cases.iter().position(wanted) {
            found.entry((number, asked.repetition)).or_default().insert(time, folder);
        }
    }
    found
}

pub(super) fn read_chosen(
    chosen: &Chosen,
    cases: &[Case],
    load: &dyn Fn(&Path) -> Result<Run, StoreError>,
) -> Vec<Kept> {
    let newest = |(&(case, repetition), folders): (&(usize, u32), &BTreeMap<SystemTime, PathBuf>)| {
        let mut why = None;
        // A damaged one does not hide an older that is whole.
        for folder in folders.values().rev() {
            match load(folder) {
                // What stood at the path when it was chosen need not be what was read.
                Ok(run) if is_of(&cases[case], &run.asked) && run.asked.repetition == repetition => {
                    return Some(Kept { case, repetition, run: Ok(run) });
                }
                Ok(_) => {}
                // An older one in its place would be told as the newest.
                Err(error @ StoreError::Spent { .. }) => {
                    return Some(Kept { case, repetition, run: Err(error) });
                }
                Err(error) => why = why.or(Some(error)),
            }
        }
        why.map(|error| Kept { case, repetition, run: Err(error) })
    };
    chosen.iter().filter_map(newest).collect()
}
