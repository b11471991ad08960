// SPDX-License-Identifier: GPL-2.0-only
//! Why the measured CPUs were interrupted, and what removes it.

use super::{measured, name_of};
use crate::few::few;
use dyntick_explain::{CauseCount, rules};
use dyntick_lab::store::Run;
use dyntick_model::KernelVersion;
use dyntick_report::{Block, Finding, numbers};
use std::collections::BTreeMap;

/// So many causes are told of, each with half a page; a machine has some tens.
const MOST_CAUSES: usize = 100;
/// And so many of the functions that ran in the interruptions of one.
const MOST_FUNCTIONS: usize = 32;

/// Where a cause was counted.
type Cases<'a> = Vec<(&'a Run, &'a CauseCount)>;

/// Ticks and interruptions of a cause in all cases.
fn weight(cases: &Cases<'_>) -> (u64, u64) {
    (cases.iter().map(|(_, c)| c.ticks).sum(), cases.iter().map(|(_, c)| c.count).sum())
}

/// The causes on the measured CPUs, those that most ticks go back to first.
pub fn findings(runs: &[&Run]) -> Vec<Block> {
    let mut by_cause: BTreeMap<&str, Cases<'_>> = BTreeMap::new();
    for run in runs {
        for cause in measured(run).flat_map(|summary| &summary.by_cause) {
            by_cause.entry(cause.cause.as_str()).or_default().push((run, cause));
        }
    }
    let mut causes: Vec<Cases<'_>> = by_cause.into_values().collect();
    causes.sort_by_key(|cases| std::cmp::Reverse(weight(cases)));
    let told = causes.iter().take(MOST_CAUSES).map(finding).collect();
    let mut blocks = vec![Block::Paragraph(attributed(runs)), Block::Findings(told)];
    blocks.extend(others(causes.get(MOST_CAUSES..).unwrap_or_default()).map(Block::Paragraph));
    blocks
}

/// The causes that are not told of one by one.
fn others(causes: &[Cases<'_>]) -> Option<String> {
    let (ticks, count) = causes.iter().map(weight).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (!causes.is_empty()).then(|| {
        format!(
            "{} other causes, none of them larger than the last one above: {} ticks, {} interruptions together.",
            numbers::count(causes.len() as u64),
            numbers::count(ticks),
            numbers::count(count)
        )
    })
}

/// How many interruptions have no cause.
fn attributed(runs: &[&Run]) -> String {
    let unattributed: u64 =
        runs.iter().flat_map(|run| measured(run)).map(|summary| summary.unattributed).sum();
    let all: u64 = runs.iter().flat_map(|run| measured(run)).map(|summary| summary.interruptions).sum();
    let share = if all == 0 { 0.0 } else { unattributed as f64 / all as f64 };
    format!(
        "Of {} interruptions of the measured CPUs in all runs, {} ({}) could not be attributed to a cause.",
        numbers::count(all),
        numbers::count(unattributed),
        numbers::percent(share)
    )
}

fn finding(cases: &Cases<'_>) -> Finding {
    let (run, most) =
        cases.iter().max_by_key(|(_, cause)| (cause.ticks, cause.count)).copied().unwrap_or(cases[0]);
    let rule = rules::get(&most.cause);
    let occurrence = |(run, cause): &(&Run, &CauseCount)| {
        let rest = if cause.ticks == cause.count {
            String::new()
        } else {
            format!(", {} interruptions", cause.count)
        };
        format!("{}: {} ticks{rest}", name_of(run), numbers::count(cause.ticks))
    };
    let versions: Vec<&KernelVersion> = cases.iter().map(|(run, _)| &run.asked.release).collect();
    let mut fixes: Vec<(String, String)> = Vec::new();
    for fix in versions.iter().flat_map(|version| rule.fixes_for(version)) {
        let fix = (fix.setting.to_string(), fix.told().into_owned());
        if !fixes.contains(&fix) {
            fixes.push(fix);
        }
    }
    let mut functions: Vec<(&str, u64)> =
        most.functions.iter().map(|(name, count)| (&**name, *count)).collect();
    functions.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    Finding {
        title: rules::title(&most.cause),
        occurrence: cases.iter().map(occurrence).collect::<Vec<_>>().join("; "),
        explanation: rule.explanation.to_owned(),
        chain: most.chain.clone(),
        functions: few(functions.iter().map(|(name, count)| format!("{name} ×{count}")), MOST_FUNCTIONS),
        fixes,
        source: format!("{} (as seen on {})", rule.source, run.asked.release),
    }
}
