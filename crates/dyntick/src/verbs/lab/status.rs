// SPDX-License-Identifier: GPL-2.0-only
//! The exit status of `lab run`.

use super::fail_on::{FailOn, ensure_judged};
use anyhow::Result;
use clap::Args;
use dyntick_lab::lab::{CaseResult, Fault};
use dyntick_study::Study;

/// `git bisect run` takes this commit for neither good nor bad.
const SKIP: u8 = 125;
/// `git bisect run` ends: the first status that it takes for no answer about a commit.
pub const ABORT: u8 = 128;

/// What may be said of the exit status.
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
    /// Whether it is for `git bisect run`.
    pub fn bisect(&self) -> bool {
        self.bisect
    }

    /// Refuses a study that cannot give such a status.
    pub fn ensure_possible(&self, study: &Study) -> Result<()> {
        match (self.bisect, self.fail_on.is_empty()) {
            (true, _) => ensure_judged("--bisect", study),
            (false, false) => ensure_judged("--fail-on", study),
            (false, true) => Ok(()),
        }
    }

    /// The status of these runs, of which `open` are the rulings that are not that a claim holds.
    ///
    /// Without `--bisect` 1 where a guest failed or a claim was ruled as --fail-on says, 2 where the input or this
    /// machine was at fault. A claim that is not reproduced is a result and no failure.
    pub fn of(&self, results: &[CaseResult], open: &[FailOn]) -> u8 {
        let faults: Vec<Fault> = results
            .iter()
            .filter_map(|result| result.run.as_ref().err())
            .map(|error| error.fault())
            .collect();
        self.of_faults(&faults, open)
    }

    fn of_faults(&self, faults: &[Fault], open: &[FailOn]) -> u8 {
        let on = match self.bisect && self.fail_on.is_empty() {
            true => &[FailOn::NotReproduced],
            false => &self.fail_on[..],
        };
        let fails = open.iter().any(|ruling| on.contains(ruling));
        if !self.bisect {
            let at_fault = faults.iter().any(|fault| *fault != Fault::Guest);
            return if at_fault { 2 } else { u8::from(!faults.is_empty() || fails) };
        }
        match () {
            () if faults.contains(&Fault::Here) => ABORT,
            () if fails => 1,
            () if !faults.is_empty() || !open.is_empty() => SKIP,
            () => 0,
        }
    }
}

/// Whether the command line has `--bisect`, where it could not be read.
pub fn is_asked_to_bisect() -> bool {
    std::env::args_os().any(|word| word == "--bisect")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults and open rulings; the status without options, with --fail-on not-reproduced, and with --bisect.
    type Ending = (&'static [Fault], &'static [FailOn], u8, u8, u8);

    #[test]
    fn what_each_end_is_for_a_check_and_for_bisecting() {
        let plain = |fail_on: &[FailOn]| Statuses { fail_on: fail_on.to_vec(), bisect: false };
        let bisect = |fail_on: &[FailOn]| Statuses { fail_on: fail_on.to_vec(), bisect: true };
        const BAD: FailOn = FailOn::NotReproduced;
        let cases: [Ending; 8] = [
            (&[], &[], 0, 0, 0),
            (&[], &[BAD], 0, 1, 1),
            (&[], &[FailOn::NotRun], 0, 0, SKIP),
            (&[], &[FailOn::Inconclusive], 0, 0, SKIP),
            (&[Fault::Guest], &[FailOn::CannotTell], 1, 1, SKIP),
            (&[Fault::Guest], &[BAD], 1, 1, 1),
            (&[Fault::Kernel], &[FailOn::CannotTell], 2, 2, SKIP),
            (&[Fault::Kernel, Fault::Here], &[BAD], 2, 2, ABORT),
        ];
        for (faults, open, without, failing, bisecting) in cases {
            let told = format!("{faults:?} {open:?}");
            assert_eq!(plain(&[]).of_faults(faults, open), without, "{told}");
            assert_eq!(plain(&[BAD]).of_faults(faults, open), failing, "{told}");
            assert_eq!(bisect(&[]).of_faults(faults, open), bisecting, "{told}");
        }
        assert_eq!(bisect(&[FailOn::CannotTell]).of_faults(&[], &[BAD]), SKIP);
        assert_eq!(bisect(&[FailOn::CannotTell]).of_faults(&[Fault::Guest], &[FailOn::CannotTell]), 1);
    }
}
