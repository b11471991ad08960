// SPDX-License-Identifier: GPL-2.0-only
//! The newest runs of the cases of a study.

use super::files::Files;
use super::{Distinct, OBSERVATIONS, Run, StoreError, load_within, plans};
use crate::budget::{Budget, Spent};
use crate::seal::Sealer;
use dyntick_study::Case;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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
    let distinct = RefCell::new(Distinct::default());
    read_chosen(&chosen(runs, cases), cases, &|folder| {
        distinct.borrow_mut().add(folder)?;
        load_within(folder, sealer, &budget)
    })
}

/// How long the newest run of each of these cases took, all stages of its guest together, by the case's place. Nobody
/// vouches for it: it is outside of the seal.
pub fn timings(runs: &Path, cases: &[Case]) -> BTreeMap<usize, Duration> {
    // Less than a kibibyte each.
    let budget = Budget::of_many();
    let took = |folder: &Path| {
        let timing = Files { folder, place: folder, budget: &budget }.timing().ok()?;
        Duration::try_from_secs_f64(timing.values().sum()).ok().filter(|took| *took < LONGEST)
    };
    let mut newest: BTreeMap<usize, (SystemTime, Duration)> = BTreeMap::new();
    for ((case, _), folders) in chosen(runs, cases) {
        let Some((time, took)) = folders.iter().next_back().and_then(|(time, run)| Some((*time, took(run)?)))
        else {
            continue;
        };
        let known = newest.entry(case).or_insert((time, took));
        if known.0 < time {
            *known = (time, took);
        }
    }
    newest.into_iter().map(|(case, (_, took))| (case, took)).collect()
}

/// No run takes longer than a week.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// Folders by case and repetition, and by when they became whole.
pub(super) type Chosen = BTreeMap<(usize, u32), BTreeMap<SystemTime, PathBuf>>;

/// The folders that say of themselves that they are runs of these cases.
pub(super) fn chosen(runs: &Path, cases: &[Case]) -> Chosen {
    let folders = std::fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found = Chosen::new();
    for (folder, plan) in plans(folders) {
        let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified());
        let (Ok(plan), Ok(time)) = (plan, modified(&folder.join(OBSERVATIONS))) else { continue };
        let wanted = |case: &Case| plan.is_of(case) && plan.repetition < case.runs();
        if let Some(number) = cases.iter().position(wanted) {
            found.entry((number, plan.repetition)).or_default().insert(time, folder);
        }
    }
    found
}

/// To find out that a run is too large, or damaged at its end, takes as long as to read it; after so many no
/// other is tried.
const MOST_REFUSED: usize = 8;
const MOST_DAMAGED: usize = 64;

pub(super) fn read_chosen(
    chosen: &Chosen,
    cases: &[Case],
    load: &dyn Fn(&Path) -> Result<Run, StoreError>,
) -> Vec<Kept> {
    let mut kept = Vec::new();
    let (refused, damaged) = (Cell::new(0), Cell::new(0));
    let load = |folder: &Path| {
        load(folder).inspect_err(|error| {
            let count = if matches!(error, StoreError::Spent { .. }) { &refused } else { &damaged };
            count.set(count.get() + 1);
        })
    };
    for (&(case, repetition), folders) in chosen {
        let is_it = |run: &Run| run.plan.is_of(&cases[case]) && run.plan.repetition == repetition;
        let run = match refused.get() < MOST_REFUSED && damaged.get() < MOST_DAMAGED {
            true => newest_of(folders, &is_it, &load),
            false => folders.values().next_back().map(|folder| {
                let spent = Spent::Before { failed: refused.get() + damaged.get() };
                Err(StoreError::Spent { path: folder.clone(), spent })
            }),
        };
        kept.extend(run.map(|run| Kept { case, repetition, run }));
    }
    kept
}

/// So many runs of one case are tried where the newest are damaged: each may take as long to read as a whole one.
const MOST_TRIED: usize = 8;

/// The newest of these that is whole, or why the newest of all is not.
fn newest_of(
    folders: &BTreeMap<SystemTime, PathBuf>,
    is_it: &dyn Fn(&Run) -> bool,
    load: &dyn Fn(&Path) -> Result<Run, StoreError>,
) -> Option<Result<Run, StoreError>> {
    let mut why = None;
    // A damaged one does not hide an older that is whole.
    for folder in folders.values().rev().take(MOST_TRIED) {
        match load(folder) {
            // What stood at the path when it was chosen need not be what was read.
            Ok(run) if is_it(&run) => return Some(Ok(run)),
            Ok(_) => {}
            // An older one in its place would be reported as the newest.
            Err(error @ StoreError::Spent { .. }) => return Some(Err(error)),
            Err(error) => why = why.or(Some(error)),
        }
    }
    why.map(Err)
}
