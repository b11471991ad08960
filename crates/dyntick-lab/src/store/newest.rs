// SPDX-License-Identifier: GPL-2.0-only
//! The newest runs of the cases of a study.

use super::files::Files;
use super::{Held, OBSERVATIONS, Run, StoreError, load_watched, plans};
use crate::seal::Sealer;
use dyntick_study::Case;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The stored run of a case and repetition.
#[derive(Debug)]
pub struct Kept {
    /// The position of the case.
    pub case: usize,
    /// The repetition, from 0.
    pub repetition: u32,
    /// The run, or why the newest cannot be read and no older one can.
    pub run: Result<Run, StoreError>,
}

/// The newest complete run of each of these cases and repetitions among `runs`, with any machine, image and kernel.
/// There may be older ones, of an earlier dyntick or kernel. Without a sealer no run counts as made here. All of them
/// are held at once, within one limit of memory.
/// `analysing` is called with each run that must be analysed again, which takes long.
pub fn newest(runs: &Path, cases: &[Case], sealer: Option<&Sealer>, analysing: &dyn Fn(&Path)) -> Vec<Kept> {
    let load = |folder: &Path| load_watched(folder, sealer, analysing);
    read_chosen(&chosen(runs, cases), cases, Held::on_this_machine(), &load)
}

/// The wall time of the newest run of each of these cases, all stages of its guest together, by the position of the
/// case. It is not covered by the seal.
pub fn timings(runs: &Path, cases: &[Case]) -> BTreeMap<usize, Duration> {
    let took = |folder: &Path| {
        let timing = Files::of(folder, folder).timing().ok()?;
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

/// The folders by case and repetition, and by the time at which they became complete.
pub(super) type Chosen = BTreeMap<(usize, u32), BTreeMap<SystemTime, PathBuf>>;

/// The folders that say of themselves that they are runs of these cases.
pub(super) fn chosen(runs: &Path, cases: &[Case]) -> Chosen {
    let folders = std::fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found = Chosen::new();
    for (folder, plan) in plans(folders) {
        let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified());
        let (Ok(plan), Ok(time)) = (plan, modified(&folder.join(OBSERVATIONS))) else { continue };
        if let Some(number) = cases.iter().position(|case| plan.is_of(case) && plan.repetition < case.runs())
        {
            found.entry((number, plan.repetition)).or_default().insert(time, folder);
        }
    }
    found
}

pub(super) fn read_chosen(
    chosen: &Chosen,
    cases: &[Case],
    mut held: Held,
    load: &dyn Fn(&Path) -> Result<Run, StoreError>,
) -> Vec<Kept> {
    let mut kept = Vec::new();
    for (&(case, repetition), folders) in chosen {
        let is_it = |run: &Run| run.plan.is_of(&cases[case]) && run.plan.repetition == repetition;
        // An older one in place of one that does not fit would be reported as the newest.
        let run = newest_of(folders, &is_it, load).map(|run| run.and_then(|run| held.hold(run)));
        kept.extend(run.map(|run| Kept { case, repetition, run }));
    }
    kept
}

/// The newest complete run of these, or the reason for which the newest of all is not.
fn newest_of(
    folders: &BTreeMap<SystemTime, PathBuf>,
    is_it: &dyn Fn(&Run) -> bool,
    load: &dyn Fn(&Path) -> Result<Run, StoreError>,
) -> Option<Result<Run, StoreError>> {
    let mut why = None;
    // A damaged run does not hide an older complete one.
    for folder in folders.values().rev() {
        match load(folder) {
            // What stood at the path when it was chosen need not be what was read.
            Ok(run) if is_it(&run) => return Some(Ok(run)),
            Ok(_) => {}
            Err(error) => why = why.or(Some(error)),
        }
    }
    why.map(Err)
}
