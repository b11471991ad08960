// SPDX-License-Identifier: GPL-2.0-only
//! `lab run --fail-on`: which rulings make the exit status 1.

use anyhow::{Result, bail};
use clap::ValueEnum;
use dyntick_report::Ruling;
use dyntick_study::Study;

/// A ruling by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A check of a claim does not hold
    NotReproduced,
    /// A claim is inconclusive for any reason: perturbed runs disagree, or cannot-tell
    Inconclusive,
    /// The data do not decide a claim: a run failed, or has no such figure, or lost events
    CannotTell,
    /// A case that a claim needs was not run, as with --case
    NotRun,
}

impl FailOn {
    /// Returns true if the ruling has this name. A report prints *inconclusive* for two rulings, so that name has both.
    pub fn covers(self, ruling: Ruling) -> bool {
        match self {
            FailOn::NotReproduced => ruling == Ruling::NotReproduced,
            FailOn::Inconclusive => matches!(ruling, Ruling::Inconclusive | Ruling::CannotTell),
            FailOn::CannotTell => ruling == Ruling::CannotTell,
            FailOn::NotRun => ruling == Ruling::NotRun,
        }
    }
}

/// Refuses an option that asks for the rulings of a study of which no claim can have one.
pub fn ensure_judged(option: &str, study: &Study) -> Result<()> {
    if study.claims.iter().any(|claim| claim.is_judged_of(study)) {
        return Ok(());
    }
    match study.claims.len() {
        0 => bail!(
            "{option}: this study has no [[claim]] that could be judged, so the exit status would always be 0"
        ),
        claims => bail!(
            "{option}: none of the {claims} claims can be judged from the cases that are run, so the exit status would \
             say nothing; leave out --case, or name all cases that a claim needs"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::lab::rulings::Ran;
    use dyntick_lab::lab::{CaseResult, LabError};
    use dyntick_study::claims::{self, Verdict};
    use dyntick_study::{Size, shipped};
    use std::path::Path;

    #[test]
    fn each_ruling_fails_by_the_word_that_a_report_prints() {
        for ruling in Ruling::ALL.into_iter().filter(|ruling| *ruling != Ruling::Reproduced) {
            let name = ruling.words().replace(' ', "-");
            let printed = FailOn::from_str(&name, false).unwrap();
            assert!(printed.covers(ruling), "--fail-on {name}");
            assert!(!printed.covers(Ruling::Reproduced), "--fail-on {name}");
        }
        assert!(FailOn::CannotTell.covers(Ruling::CannotTell));
        assert!(!FailOn::CannotTell.covers(Ruling::Inconclusive));
    }

    /// A study with two claims, of its cases `a` and `b`.
    fn study(folder: &Path) -> Study {
        let check = |case: &str| format!("check = [{{ case = '{case}', figure = 'ticks', is = '< 1' }}]\n");
        let cases = "title = 't'\nquestion = 'q'\n[defaults]\nkernel = 'debian:6.12'\n[[case]]\nname = 'a'\n[[case]]\nname = 'b'\n";
        let claim = |case: &str| format!("[[claim]]\ntext = '{case}'\n{}", check(case));
        let file = folder.join("x.toml");
        std::fs::write(&file, format!("{cases}{}{}", claim("a"), claim("b"))).unwrap();
        shipped::find(&file, Size::Scaled).unwrap()
    }

    #[test]
    fn not_run_differs_from_cannot_tell() {
        let folder = tempfile::tempdir().unwrap();
        let mut study = study(folder.path());
        study.cases.retain(|case| case.name == "a");
        let failed =
            CaseResult { case: study.cases[0].clone().into(), repetition: 0, run: Err(LabError::NotTried) };
        let verdict = |claim: usize| Verdict {
            claim: study.claims[claim].clone(),
            rulings: vec![(String::new(), claims::Ruling::CannotTell)],
            evidence: Vec::new(),
            rests_on: Vec::new(),
        };
        let verdicts = [verdict(0), verdict(1)];
        let open = Ran::of(&study, &[failed]).open(&verdicts);
        assert_eq!(open, [Ruling::CannotTell, Ruling::NotRun]);
    }

    #[test]
    fn a_study_without_a_ruling_has_no_status_to_fail_on() {
        let folder = tempfile::tempdir().unwrap();
        let whole = study(folder.path());
        assert!(ensure_judged("--fail-on", &whole).is_ok());
        let without = Study { claims: Vec::new(), ..whole.clone() };
        let message = ensure_judged("--fail-on", &without).unwrap_err().to_string();
        assert!(message.starts_with("--fail-on: this study has no [[claim]]"), "{message}");
        let mut others = whole;
        others.cases.clear();
        let message = ensure_judged("--bisect", &others).unwrap_err().to_string();
        assert!(
            message.starts_with("--bisect: none of the 2 claims") && message.contains("--case"),
            "{message}"
        );
    }
}
