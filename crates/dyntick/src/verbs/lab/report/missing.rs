// SPDX-License-Identifier: GPL-2.0-only
//! The gaps of a report, in one line: cases without a run, runs that failed or are damaged, lost events.

use super::titles::Titles;
use crate::few::few;
use dyntick_lab::lab::{CaseResult, LabError};
use dyntick_model::text::shortened;
use dyntick_report::numbers::counted;
use std::collections::BTreeMap;

/// The number of each kind that are named.
const MOST_NAMED: usize = 3;

/// The longest reason that is shown: it is complete in the long report.
const LONGEST_REASON: usize = 120;

/// The line; `None` if there are no gaps.
pub fn line(titles: &Titles, results: &[CaseResult], not_run: &[&str]) -> Option<String> {
    let names = |all: Vec<String>| few(all.into_iter(), MOST_NAMED).join(", ");
    let mut parts = Vec::new();
    if !not_run.is_empty() {
        let of = not_run.iter().map(|id| (*id).to_owned()).collect();
        parts.push(format!("{} not run ({})", counted(not_run.len() as u64, "case"), names(of)));
    }
    let failed: Vec<String> = results.iter().filter_map(|result| failure(titles, result)).collect();
    if !failed.is_empty() {
        parts.push(format!("{} without figures ({})", counted(failed.len() as u64, "run"), names(failed)));
    }
    let fewer = fewer(titles, results);
    if !fewer.is_empty() {
        parts.push(format!("fewer runs than asked for ({})", names(fewer)));
    }
    let lossy = |result: &&CaseResult| {
        result
            .run
            .as_ref()
            .is_ok_and(|run| run.analysis.lost_events.values().sum::<u64>() + run.analysis.undecoded > 0)
    };
    let lossy: Vec<String> =
        results.iter().filter(lossy).map(|result| titles.of_case(&result.case)).collect();
    if !lossy.is_empty() {
        let of = counted(lossy.len() as u64, "run");
        parts.push(format!("lost or unreadable trace events in {of} ({})", names(lossy)));
    }
    (!parts.is_empty()).then(|| format!("Incomplete: {}.", parts.join("; ")))
}

fn failure(titles: &Titles, result: &CaseResult) -> Option<String> {
    let error = result.run.as_ref().err().filter(|error| !matches!(error, LabError::NotRun))?;
    let reason = error.to_string();
    let reason = reason.lines().next().unwrap_or_default();
    Some(format!("{}: {}", titles.of_case(&result.case), shortened(reason, LONGEST_REASON)))
}

/// Cases that were repeated or perturbed less often than the study wants, as `nohz_full, debian:6.12: 2 of 5`.
fn fewer(titles: &Titles, results: &[CaseResult]) -> Vec<String> {
    let mut by_case: BTreeMap<&str, (&CaseResult, u32)> = BTreeMap::new();
    for result in results.iter().filter(|result| !matches!(result.run, Err(LabError::NotRun))) {
        by_case.entry(result.case.id.as_str()).or_insert((result, 0)).1 += 1;
    }
    let short = |(result, there): (&CaseResult, u32)| {
        let wanted = result.case.repeat.max(1) + result.case.perturb;
        (there < wanted).then(|| format!("{}: {there} of {wanted}", titles.of_case(&result.case)))
    };
    by_case.into_values().filter_map(short).collect()
}
