// SPDX-License-Identifier: GPL-2.0-only
//! The run of a study in stages, each of which is made from the one before: accepted, ready, judged. All that can be
//! refused is refused before anything boots.

use crate::judgement::Judgement;
use crate::lab::{Lab, Place, Progress, Refusal, Watch, ensure_few, ensure_recipes, ensure_tools};
use dyntick_kernels::build;
use dyntick_kernels::cache::Cache;
use dyntick_study::{Study, check, private_note};
use std::path::{Path, PathBuf};

/// A study of which all that can be refused without a laboratory was accepted. Nothing is written before tools, kernels
/// and memory are known to do: an empty report would replace an earlier one.
pub struct Accepted<'a> {
    study: &'a Study,
    place: &'a Place,
    watch: Watch<'a>,
}

/// An accepted study with a laboratory in which each of its cases can be prepared.
pub struct Ready<'a> {
    accepted: Accepted<'a>,
    lab: Lab<'a>,
}

impl<'a> Accepted<'a> {
    /// Accepts a study for this folder; `file` is its path.
    ///
    /// # Errors
    /// A study of which no case can be run here, or a folder that cannot be used.
    pub fn of(study: &'a Study, file: &Path, place: &'a Place, watch: Watch<'a>) -> Result<Self, Refusal> {
        ensure_few(&study.cases)?;
        for note in notes(study, file) {
            watch(Progress::Note(note));
        }
        ensure_tools(&study.cases)?;
        ensure_recipes(&study.cases)?;
        place.ensure_usable()?;
        if let Some(note) = place.note_of_owners() {
            watch(Progress::Note(note));
        }
        Ok(Self { study, place, watch })
    }

    /// Opens the laboratory; `init` is this program's own static binary.
    ///
    /// # Errors
    /// A laboratory that cannot be used, a kernel that cannot be had, or a guest with too little memory.
    pub fn open(self, init: PathBuf) -> Result<Ready<'a>, Refusal> {
        let lab = Lab::open(Cache::of_user()?, init, self.watch)?;
        lab.ensure_kernels(&self.study.cases)?;
        lab.ensure_patches(&self.study.cases)?;
        lab.ensure_memory(&self.study.cases)?;
        Ok(Ready { accepted: self, lab })
    }
}

impl<'a> Ready<'a> {
    /// Runs the cases, `jobs` at a time, and judges the runs.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub fn run(self, jobs: usize) -> Result<Judgement<'a>, Refusal> {
        let Accepted { study, place, .. } = self.accepted;
        Ok(Judgement::of(study, self.lab.run_all(&study.cases, &place.make_runs()?, jobs)))
    }
}

/// The parameters that look misspelt if the kernel may be patched (those of other kernels were refused when the study
/// was read), and the sources that only this user may read.
fn notes(study: &Study, file: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    for case in study.cases.iter().filter(|case| check::may_be_patched(case)) {
        let misspelt = check::misspelt(case).into_iter();
        notes.extend(misspelt.map(|problem| format!("case '{}': {problem}", case.id)));
    }
    for (name, recipe) in &study.kernels {
        notes.extend(build::private_note(recipe).map(|note| format!("the kernel {name} is {note}")));
    }
    notes.extend(private_note(file.parent().unwrap_or(Path::new("")), &study.cases));
    notes
}
