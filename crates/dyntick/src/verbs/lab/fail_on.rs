// SPDX-License-Identifier: GPL-2.0-only
//! `lab run --fail-on`: which rulings make the exit status 1.

use anyhow::{Result, bail};
use clap::ValueEnum;
use dyntick_lab::lab::{CaseResult, LabError};
use dyntick_study::claims::{Ruling, Verdict};
use dyntick_study::{Case, Study};

/// A ruling by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A check of a claim does not hold
    NotReproduced,
    /// A check holds in some perturbed runs only, and not in others
    Inconclusive,
    /// The data do not decide a claim: a run failed, or has no such figure, or lost events
    CannotTell,
    /// A case that a claim needs was not run, as with --case
    NotRun,
}

impl FailOn {
    /// What became of a claim for one variant, of all rulings that are not that it holds. A claim that says of itself
    /// that it cannot be judged here has none.
    fn of(
        study: &Study,
        results: &[CaseResult],
        verdict: &Verdict,
        variant: &str,
        ruling: Ruling,
    ) -> Option<Self> {
        let was_run = |case: &Case| {
            let ran = |result: &&CaseResult| !matches!(result.run, Err(LabError::NotRun));
            results.iter().filter(ran).any(|result| result.case.id == case.id)
        };
        match ruling {
            _ if verdict.claim.cannot_tell.is_some() => None,
            Ruling::Reproduced => None,
            Ruling::NotReproduced => Some(Self::NotReproduced),
            Ruling::Inconclusive => Some(Self::Inconclusive),
            Ruling::CannotTell if verdict.claim.lacks_a_run(study, variant, &was_run) => Some(Self::NotRun),
            Ruling::CannotTell => Some(Self::CannotTell),
        }
    }
}

/// The rulings of all claims for all variants that are not that they hold.
pub fn open(study: &Study, results: &[CaseResult], verdicts: &[Verdict]) -> Vec<FailOn> {
    let of = |verdict: &Verdict| -> Vec<FailOn> {
        let rulings = verdict.rulings.iter();
        rulings
            .filter_map(|(variant, ruling)| FailOn::of(study, results, verdict, variant, *ruling))
            .collect()
    };
    verdicts.iter().flat_map(of).collect()
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
    use dyntick_study::{Size, shipped};
    use std::path::Path;

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
    fn what_was_not_run_is_not_what_cannot_be_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut study = study(folder.path());
        study.cases.retain(|case| case.name == "a");
        let failed = CaseResult {
            case: study.cases[0].clone().into(),
            repetition: 0,
            run: Err(LabError::NotTried),
            console_tail: Vec::new(),
        };
        let verdict = |claim: usize| Verdict {
            claim: study.claims[claim].clone(),
            rulings: vec![(String::new(), Ruling::CannotTell)],
            evidence: Vec::new(),
            rests_on: Vec::new(),
        };
        let verdicts = [verdict(0), verdict(1)];
        assert_eq!(open(&study, &[failed], &verdicts), [FailOn::CannotTell, FailOn::NotRun]);
    }

    #[test]
    fn a_study_without_a_ruling_has_no_status_to_fail_on() {
        let folder = tempfile::tempdir().unwrap();
        let whole = study(folder.path());
        assert!(ensure_judged("--fail-on", &whole).is_ok());
        let without = Study { claims: Vec::new(), ..whole.clone() };
        let told = ensure_judged("--fail-on", &without).unwrap_err().to_string();
        assert!(told.starts_with("--fail-on: this study has no [[claim]]"), "{told}");
        let mut others = whole;
        others.cases.clear();
        let told = ensure_judged("--bisect", &others).unwrap_err().to_string();
        assert!(told.starts_with("--bisect: none of the 2 claims") && told.contains("--case"), "{told}");
    }
}
