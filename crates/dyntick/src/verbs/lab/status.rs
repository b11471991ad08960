// SPDX-License-Identifier: GPL-2.0-only
//! The exit status of `lab run`, and the options for it.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use dyntick_lab::lab::{CaseResult, Fault, LabError};
use dyntick_report::Ruling;
use dyntick_study::Study;

/// `git bisect run` takes this commit for neither good nor bad.
const SKIP: u8 = 125;
/// `git bisect run` ends: the first status that it takes for no answer about a commit.
pub const ABORT: u8 = 128;

/// The options for the exit status.
#[derive(Args)]
pub struct Statuses {
    /// Exit with status 1 if a claim has one of these rulings
    #[arg(long, value_enum, value_delimiter = ',', value_name = "RULING,…")]
    fail_on: Vec<FailOn>,
    /// Exit as `git bisect run` reads it: 0 where all claims hold; 1 where one has a ruling of --fail-on, by default
    /// not-reproduced; 125 (skip) where the kernel or its guest gives no answer; 128 (end) where the study or this
    /// machine is at fault
    #[arg(long)]
    bisect: bool,
}

impl Statuses {
    /// Returns true if the status is for `git bisect run`.
    pub fn bisect(&self) -> bool {
        self.bisect
    }

    /// Refuses a study that cannot give such a status.
    pub fn ensure_possible(&self, study: &Study) -> Result<()> {
        if self.bisect {
            ensure_judged("--bisect", study)
        } else if !self.fail_on.is_empty() {
            ensure_judged("--fail-on", study)
        } else {
            Ok(())
        }
    }

    /// The exit status of these runs; `open` are the rulings other than *reproduced*.
    ///
    /// Without `--bisect` it is 1 if a guest failed or a claim has a ruling of --fail-on, and 2 if the input or this
    /// machine is at fault. A claim that is not reproduced is a result, not a failure.
    pub fn of(&self, results: &[CaseResult], open: &[Ruling]) -> u8 {
        let errors = results.iter().filter_map(|result| result.run.as_ref().err());
        let faults: Vec<Fault> = errors.map(LabError::fault).collect();
        if self.bisect { self.of_commit(&faults, open) } else { self.of_check(&faults, open) }
    }

    fn of_check(&self, faults: &[Fault], open: &[Ruling]) -> u8 {
        if faults.iter().any(|fault| *fault != Fault::Guest) {
            return 2;
        }
        u8::from(!faults.is_empty() || fails(&self.fail_on, open))
    }

    fn of_commit(&self, faults: &[Fault], open: &[Ruling]) -> u8 {
        let fail_on = if self.fail_on.is_empty() { &[FailOn::NotReproduced] } else { &self.fail_on[..] };
        if faults.contains(&Fault::Here) {
            ABORT
        } else if fails(fail_on, open) {
            1
        } else if !faults.is_empty() || !open.is_empty() {
            SKIP
        } else {
            0
        }
    }
}

fn fails(fail_on: &[FailOn], open: &[Ruling]) -> bool {
    open.iter().any(|ruling| fail_on.iter().any(|name| name.covers(*ruling)))
}

/// Returns true if the command line has `--bisect`, for a command line that could not be parsed.
pub fn is_asked_to_bisect() -> bool {
    std::env::args_os().any(|word| word == "--bisect")
}

/// A ruling by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
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
    fn covers(self, ruling: Ruling) -> bool {
        match self {
            FailOn::NotReproduced => ruling == Ruling::NotReproduced,
            FailOn::Inconclusive => matches!(ruling, Ruling::Inconclusive | Ruling::CannotTell),
            FailOn::CannotTell => ruling == Ruling::CannotTell,
            FailOn::NotRun => ruling == Ruling::NotRun,
        }
    }
}

/// Refuses an option that asks for the rulings of a study of which no claim can have one.
fn ensure_judged(option: &str, study: &Study) -> Result<()> {
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
    use crate::verbs::lab::report::Ran;
    use dyntick_lab::lab::{CaseResult, LabError};
    use dyntick_study::claims::{self, Verdict};
    use dyntick_study::{Size, shipped};
    use std::path::Path;

    /// One end of `lab run`, and its exit status by option.
    struct Ending {
        faults: &'static [Fault],
        open: &'static [Ruling],
        plain: u8,
        fail_on_not_reproduced: u8,
        bisect: u8,
    }

    #[test]
    fn exit_status_is_for_a_check_or_for_bisecting() {
        let plain = |fail_on: &[FailOn]| Statuses { fail_on: fail_on.to_vec(), bisect: false };
        let bisect = |fail_on: &[FailOn]| Statuses { fail_on: fail_on.to_vec(), bisect: true };
        let end = |faults, open, plain, fail_on_not_reproduced, bisect| Ending {
            faults,
            open,
            plain,
            fail_on_not_reproduced,
            bisect,
        };
        const BAD: Ruling = Ruling::NotReproduced;
        let endings = [
            end(&[], &[], 0, 0, 0),
            end(&[], &[BAD], 0, 1, 1),
            end(&[], &[Ruling::NotRun], 0, 0, SKIP),
            end(&[], &[Ruling::Inconclusive], 0, 0, SKIP),
            end(&[Fault::Guest], &[Ruling::CannotTell], 1, 1, SKIP),
            end(&[Fault::Guest], &[BAD], 1, 1, 1),
            end(&[Fault::Kernel], &[Ruling::CannotTell], 2, 2, SKIP),
            end(&[Fault::Kernel, Fault::Here], &[BAD], 2, 2, ABORT),
        ];
        let failing = plain(&[FailOn::NotReproduced]);
        for Ending { faults, open, plain: without, fail_on_not_reproduced, bisect: bisecting } in endings {
            let inputs = format!("{faults:?} {open:?}");
            assert_eq!(plain(&[]).of_check(faults, open), without, "{inputs}");
            assert_eq!(failing.of_check(faults, open), fail_on_not_reproduced, "{inputs}");
            assert_eq!(bisect(&[]).of_commit(faults, open), bisecting, "{inputs}");
        }
        let cannot_tell = bisect(&[FailOn::CannotTell]);
        assert_eq!(cannot_tell.of_commit(&[], &[BAD]), SKIP);
        assert_eq!(cannot_tell.of_commit(&[Fault::Guest], &[Ruling::CannotTell]), 1);
        assert_eq!(plain(&[FailOn::Inconclusive]).of_check(&[], &[Ruling::CannotTell]), 1);
    }

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
            unknown: Vec::new(),
            failed: Vec::new(),
            claim: study.claims[claim].clone(),
            rulings: vec![(String::new(), claims::Ruling::CannotTell)],
            evidence: Vec::new(),
            agreement: None,
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
