// SPDX-License-Identifier: GPL-2.0-only
//! The timer interrupts over time: the picture of a study's report.

use super::titles::Titled;
use super::{measured, window_ns};
use crate::classes::Classes;
use dyntick_explain::CauseId;
use dyntick_report::{Lane, Mark, Timeline, numbers};
use std::collections::BTreeMap;

/// The end of each window that the timeline shows enlarged, ns.
const ZOOM_NS: u64 = 100_000_000;

/// The picture of a study's runs: a lane per case, a colour per cause.
pub fn timeline(runs: &[Titled<'_>]) -> Timeline {
    let classes = classes(runs);
    Timeline {
        caption:
            "Timer interrupts of the measured CPUs, coloured by cause. A solid bar stands for events too close together \
             to be drawn apart."
                .into(),
        window_ns: runs.iter().map(|run| window_ns(run)).max().unwrap_or(0),
        zoom_ns: ZOOM_NS,
        classes: classes.legend(),
        merged: classes.merged(),
        lanes: runs.iter().map(|run| lane(run, &classes)).collect(),
    }
}

/// The causes of timer interrupts in all runs, the most frequent first.
fn classes<'a>(runs: &'a [Titled<'_>]) -> Classes<'a> {
    let mut counts: BTreeMap<&CauseId, u64> = BTreeMap::new();
    for (cause, times) in runs.iter().flat_map(|run| &run.analysis.timer_interrupts) {
        *counts.entry(cause).or_default() += times.len() as u64;
    }
    let mut causes: Vec<(&CauseId, u64)> = counts.into_iter().collect();
    causes.sort_by_key(|(cause, count)| (std::cmp::Reverse(*count), *cause));
    Classes::of(causes.into_iter().map(|(cause, _)| cause))
}

fn lane(run: &Titled<'_>, classes: &Classes<'_>) -> Lane {
    let begin = run.analysis.outcome.window_ns.0;
    let mut marks = Vec::new();
    for (cause, times) in &run.analysis.timer_interrupts {
        let Some(class) = classes.place(cause) else { continue };
        marks.extend(times.iter().map(|start_ns| Mark { at_ns: start_ns.saturating_sub(begin), class }));
    }
    marks.sort_by_key(|mark| mark.at_ns);
    let per_second: f64 = measured(run).map(|summary| summary.local_timer_per_second).sum();
    Lane { name: run.title().to_owned(), figure: format!("{} /s", numbers::rate(per_second)), marks }
}
