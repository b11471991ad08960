// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab run --baseline`: the runs beside those of an earlier time, for CI.

use super::again::kept;
use super::tried::page::change;
use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_contract::ci::{TestCase, TestResult, junit, ktap};
use dyntick_lab::lab::{CaseResult, Place};
use dyntick_lab::tried::{CaseEffect, changes};
use dyntick_study::Study;
use std::path::PathBuf;

/// The options for a comparison with earlier runs.
#[derive(Args)]
pub struct Against {
    /// Compare with the runs of an earlier `lab run` in DIR, e.g. out/STUDY of another time; exit with status 1 if a
    /// figure changed by more than irrelevant changes make it
    #[arg(long, value_name = "DIR")]
    baseline: Option<PathBuf>,
    /// Write a result for each case to FILE, as JUnit XML
    #[arg(long, value_name = "FILE", requires = "baseline")]
    junit: Option<PathBuf>,
    /// Write a result for each case to FILE, as KTAP
    #[arg(long, value_name = "FILE", requires = "baseline")]
    ktap: Option<PathBuf>,
}

/// Earlier runs.
pub struct Baseline<'a> {
    against: &'a Against,
    results: Vec<CaseResult>,
}

impl Against {
    /// Reads the earlier runs, before anything is run; `out` is the place of the new ones.
    ///
    /// # Errors
    /// A folder without a run of the study, or the one that is written to.
    pub fn open(&self, study: &Study, out: &Place) -> Result<Option<Baseline<'_>>> {
        let Some(folder) = &self.baseline else { return Ok(None) };
        if folder
            .canonicalize()
            .is_ok_and(|folder| out.folder().canonicalize().is_ok_and(|out| out == folder))
        {
            bail!("--baseline {}: the new runs are written there; name another --out", folder.display());
        }
        let results = kept(study, &Place::of(Some(folder), &study.name).runs());
        if results.iter().all(|result| result.run.is_err()) {
            bail!("--baseline {}: it has no run of this study's cases as they are now", folder.display());
        }
        Ok(Some(Baseline { against: self, results }))
    }
}

impl Baseline<'_> {
    /// Compares, writes the files, and prints the changes to standard error. Returns true if a figure changed.
    pub fn judge(&self, study: &Study, results: &[CaseResult]) -> Result<bool> {
        let effects = changes(&self.results, results);
        let tests: Vec<TestCase> = study.cases.iter().map(|case| test(&case.id, results, &effects)).collect();
        if let Some(file) = &self.against.junit {
            output::file(file, junit(&study.name, &tests).as_bytes())?;
        }
        if let Some(file) = &self.against.ktap {
            output::file(file, ktap(&tests).as_bytes())?;
        }
        let mut has_changed = false;
        for test in &tests {
            let TestResult::Failed(reason) = &test.result else { continue };
            has_changed = true;
            output::note(format_args!("{}: {reason}", test.name));
            // What GitHub's runners show beside a change (workflow commands).
            if std::env::var_os("GITHUB_ACTIONS").is_some() {
                output::aside(format_args!("::error title={}::{reason}\n", test.name));
            }
        }
        Ok(has_changed)
    }
}

/// The result of a case.
fn test(id: &str, results: &[CaseResult], effects: &[CaseEffect]) -> TestCase {
    const NAMED: usize = 4;
    let error =
        results.iter().filter(|result| result.case.id == id).find_map(|result| result.run.as_ref().err());
    let result = match (error, effects.iter().find(|effect| effect.case == id)) {
        (Some(error), _) => TestResult::Error(error.reason()),
        (None, None) => TestResult::Skipped("the baseline has no run of it".to_owned()),
        (None, Some(effect)) => {
            let shown: Vec<_> = effect.figures.iter().filter(|figure| figure.is_shown).collect();
            let words: Vec<String> = shown.iter().take(NAMED).map(|figure| change(figure)).collect();
            let more = shown.len() - words.len();
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            if shown.is_empty() { TestResult::Passed } else { TestResult::Failed(words.join(", ") + &more) }
        }
    };
    TestCase { name: id.to_owned(), result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_lab::tried::{FigureEffect, Spread};

    #[test]
    fn a_case_fails_by_figures_that_changed_for_sure() {
        let spread = |own: f64| Spread { own, least: own, most: own };
        let figure = |name: &str, after: f64, is_shown| FigureEffect {
            figure: name.into(),
            unit: String::new(),
            before: spread(2.0),
            after: spread(after),
            is_shown,
        };
        let effect = |case: &str, figures| CaseEffect { case: case.into(), figures, ..CaseEffect::default() };
        let effects = [
            effect("a", vec![figure("ticks_per_s", 3.0, true), figure("interruptions", 4.0, false)]),
            effect("b", vec![figure("interruptions", 4.0, false)]),
        ];
        let of = |id: &str| test(id, &[], &effects).result;
        assert_eq!(of("a"), TestResult::Failed("ticks_per_s from 2 to 3 (+50.0 %)".into()));
        assert_eq!(of("b"), TestResult::Passed);
        assert!(matches!(of("c"), TestResult::Skipped(_)));
    }
}
