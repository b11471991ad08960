// SPDX-License-Identifier: GPL-2.0-only
//! The timer interrupts over time: the picture of a study's report.

use super::titles::Titled;
use super::{measured, window_ns};
use crate::classes::Classes;
use dyntick_explain::{CauseId, Interruption};
use dyntick_lab::store::Run;
use dyntick_report::{Lane, Mark, Timeline, numbers};
use std::collections::BTreeMap;

/// The end of each window that the timeline shows enlarged, ns.
const ZOOM_NS: u64 = 100_000_000;

/// The picture of a study's runs: a lane per case, a colour per cause.
pub fn timeline(runs: &[Titled<'_>]) -> Timeline {
    let classes = classes(runs);
    Timeline {
        caption:
            "Timer interrupts of the measured CPUs, coloured by cause. A solid bar: too many to separate."
                .into(),
        window_ns: runs.iter().map(|run| window_ns(run)).max().unwrap_or(0),
        zoom_ns: ZOOM_NS,
        classes: classes.legend(),
        merged: classes.merged(),
        lanes: runs.iter().map(|run| lane(run, &classes)).collect(),
    }
}

fn timer_interrupts(run: &Run) -> impl Iterator<Item = &Interruption> {
    let cpus = &run.plan.case.measured_cpus;
    run.explanation.interruptions.iter().filter(|i| cpus.contains(i.cpu) && i.kind.is_local_timer())
}

/// The causes of timer interrupts in all runs, the most frequent first.
fn classes<'a>(runs: &'a [Titled<'_>]) -> Classes<'a> {
    let mut counts: BTreeMap<&CauseId, u64> = BTreeMap::new();
    for interruption in runs.iter().flat_map(|run| timer_interrupts(run)) {
        *counts.entry(&interruption.cause).or_default() += 1;
    }
    let mut causes: Vec<(&CauseId, u64)> = counts.into_iter().collect();
    causes.sort_by_key(|(cause, count)| (std::cmp::Reverse(*count), *cause));
    Classes::of(causes.into_iter().map(|(cause, _)| cause))
}

fn lane(run: &Titled<'_>, classes: &Classes<'_>) -> Lane {
    let begin = run.outcome.window_ns.0;
    let mark = |interruption: &Interruption| {
        let class = classes.place(&interruption.cause)?;
        Some(Mark { at_ns: interruption.start_ns.saturating_sub(begin), class })
    };
    let per_second: f64 = measured(run).map(|summary| summary.local_timer_per_second).sum();
    Lane {
        name: run.title().to_owned(),
        figure: format!("{} /s", numbers::rate(per_second)),
        marks: timer_interrupts(run).filter_map(mark).collect(),
    }
}
