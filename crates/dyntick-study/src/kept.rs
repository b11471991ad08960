// SPDX-License-Identifier: GPL-2.0-only
//! The claims, published figures and comparisons that still hold after the command line has changed the cases. Those
//! that name a case or variant that is gone are left out.

use super::claims::{Check, Claim, references};
use super::{Case, Comparison, Effects, Published, Study};
use dyntick_stats::Factor;

/// The study with these cases in the place of its own, and how many of its claims speak of others.
pub fn with_cases(study: Study, cases: Vec<Case>, matrices: &[(String, Vec<Factor>)]) -> (Study, usize) {
    let claims = study.claims.len();
    let judged: Vec<Claim> = study.claims.into_iter().filter_map(|claim| of_claim(claim, &cases)).collect();
    let left_out = claims - judged.len();
    let has = |reference: &str| cases.iter().any(|case| case.answers_to(reference));
    let compares = |comparison: &Comparison| has(&comparison.case) && has(&comparison.with);
    let study = Study {
        published: study.published.map(|published| of_published(published, &has)),
        claims: judged,
        comparisons: study.comparisons.into_iter().filter(compares).collect(),
        effects: study.effects.into_iter().filter_map(|effects| of_effects(effects, matrices)).collect(),
        cases,
        ..study
    };
    (study, left_out)
}

/// The claim, where all its checks find their cases; its evidence, so far as it does.
fn of_claim(mut claim: Claim, cases: &[Case]) -> Option<Claim> {
    let spoken_of: Vec<&Case> = cases.iter().filter(|case| claim.speaks_of(case)).collect();
    let is_found = |check: &Check| finds(check, &spoken_of, cases);
    let all = claim.checks.iter().all(is_found);
    claim.evidence.retain(is_found);
    (all && (claim.cannot_tell.is_some() || !claim.checks.is_empty())).then_some(claim)
}

/// Returns true if a check means a case, and exactly one other case to set the figure against.
fn finds(check: &Check, spoken_of: &[&Case], cases: &[Case]) -> bool {
    let mut meant = spoken_of.iter().filter(|case| case.answers_to(&check.case)).peekable();
    let beside = |case: &&&Case| match &check.against {
        Some(against) => references(case, &against.case, cases).len() == 1,
        None => true,
    };
    meant.peek().is_some() && meant.all(|case| beside(&case))
}

fn of_published(mut published: Published, has: &dyn Fn(&str) -> bool) -> Published {
    published
        .figures
        .retain(|figure| has(&figure.case) && figure.ratio_to.as_ref().is_none_or(|base| has(base)));
    published
}

/// Effects of the axes that the matrix has now, where one of them still has two values.
fn of_effects(effects: Effects, matrices: &[(String, Vec<Factor>)]) -> Option<Effects> {
    let (_, axes) = matrices.iter().find(|(name, _)| *name == effects.case)?;
    let varies = axes.iter().any(|axis| axis.levels.len() > 1);
    varies.then(|| Effects { axes: axes.clone(), ..effects })
}
