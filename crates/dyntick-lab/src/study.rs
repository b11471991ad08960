// SPDX-License-Identifier: GPL-2.0-only
//! The run of a study: all that can be refused is refused before anything boots, and then each case is run.

use crate::judgement::Judgement;
use crate::lab::{Lab, Place, Progress, Refusal, Watch, ensure_few, ensure_tools};
use dyntick_kernels::build;
use dyntick_kernels::cache::Cache;
use dyntick_study::{Study, check, private_note};
use std::path::{Path, PathBuf};

/// Runs the cases of a study into a folder, `jobs` at a time, and judges the runs. `file` is the path of the study, and
/// `init` this program's own static binary. Nothing is written before tools, kernels and memory are known to do: an
/// empty report would replace an earlier one.
///
/// # Errors
/// A study of which no case can be run here, or a folder or laboratory that cannot be used.
pub fn run<'a>(
    study: &'a Study,
    file: &Path,
    place: &Place,
    jobs: usize,
    init: PathBuf,
    watch: Watch<'_>,
) -> Result<Judgement<'a>, Refusal> {
    let cases = &study.cases;
    ensure_few(cases)?;
    for note in notes(study, file) {
        watch(Progress::Note(note));
    }
    ensure_tools(cases)?;
    place.ensure_usable()?;
    if let Some(note) = place.note_of_owners() {
        watch(Progress::Note(note));
    }
    let lab = Lab::open(Cache::of_user()?, init, watch)?;
    lab.ensure_kernels(cases)?;
    lab.ensure_memory(cases)?;
    Ok(Judgement::of(study, lab.run_all(cases, &place.make_runs()?, jobs)))
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
