// SPDX-License-Identifier: GPL-2.0-only
//! `lab run --fail-on`: which rulings make the exit status 1, as `git bisect run` reads it.

use dyntick_study::claims::{Ruling, Verdict};

/// A ruling by its name on the command line.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum FailOn {
    /// A check of a claim does not hold
    NotReproduced,
    /// A check holds in some perturbed runs only, and not in others
    Inconclusive,
    /// A claim is inconclusive for want of data: a run is missing or failed, or the data do not decide
    CannotTell,
}

impl FailOn {
    fn ruling(self) -> Ruling {
        match self {
            FailOn::NotReproduced => Ruling::NotReproduced,
            FailOn::Inconclusive => Ruling::Inconclusive,
            FailOn::CannotTell => Ruling::CannotTell,
        }
    }
}

/// Whether a claim has one of these rulings for any variant. A claim that says of itself that it cannot be judged
/// here does not fail a run.
pub fn fails(on: &[FailOn], verdicts: &[Verdict]) -> bool {
    let judged = verdicts.iter().filter(|verdict| verdict.claim.cannot_tell.is_none());
    let mut rulings = judged.flat_map(|verdict| &verdict.rulings);
    rulings.any(|(_, ruling)| on.iter().any(|on| on.ruling() == *ruling))
}
