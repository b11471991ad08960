// SPDX-License-Identifier: GPL-2.0-only
//! The run of a study in stages, each of which is made from the one before: accepted, ready, judged. All that can be
//! refused is refused before anything boots.

use crate::judgement::Judgement;
use crate::lab::{Lab, Place, Progress, Refusal, Watch, ensure_few, ensure_recipes, ensure_tools, first_of};
use crate::shared::Shared;
use dyntick_kernels::build;
use dyntick_kernels::cache::Cache;
use dyntick_study::{Study, check, private_note};
use std::collections::BTreeMap;
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

    /// Opens the laboratory; `init` is this program's own static binary. Runs are taken from a store, if there is one.
    ///
    /// # Errors
    /// A laboratory that cannot be used, a kernel that cannot be had, or a guest with too little memory.
    pub fn open(self, init: PathBuf, shared: Option<Shared>) -> Result<Ready<'a>, Refusal> {
        let lab = Lab::open(Cache::of_user()?, init, self.watch)?.sharing(shared);
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
    let mut misspelt: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in study.cases.iter().filter(|case| check::may_be_patched(case)) {
        for problem in check::misspelt(case) {
            misspelt.entry(problem.to_string()).or_default().push(case.id.clone());
        }
    }
    let of_cases = |(problem, cases): (String, Vec<String>)| format!("{}: {problem}", first_of(&cases));
    let mut notes: Vec<String> = misspelt.into_iter().map(of_cases).collect();
    for (name, recipe) in &study.kernels {
        notes.extend(build::private_note(recipe).map(|note| format!("the kernel {name} is {note}")));
    }
    notes.extend(private_note(file.parent().unwrap_or(Path::new("")), &study.cases));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_that_is_misspelt_in_many_cases_is_one_note() {
        let case = |name: &str| format!("[[case]]\nname = '{name}'\nkernel = 'own'\nappend = 'isolcpu=1'\n");
        let cases: String = ["a", "b", "c", "d", "e"].map(case).concat();
        let own = "[kernels.own]\nsource = 'debian:6.12'\nconfig = ['lab']\npatches = ['x.patch']\n";
        let text = format!("title = 't'\nquestion = 'q'\n{own}{cases}");
        let study = Study::parse(Path::new("s.toml"), &text).unwrap_or_else(|problems| panic!("{problems}"));
        let notes = notes(&study, Path::new("s.toml"));
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].starts_with("a, b, c and 2 more: 'isolcpu"), "{notes:?}");
    }
}
