// SPDX-License-Identifier: GPL-2.0-only
//! The method of a report's runs.

use super::titles::{Titled, Titles, kernel_of};
use super::{disks, distinct, kernels, settings};
use crate::few::few;
use dyntick_formats::Observation;
use dyntick_lab::perturb::Perturbation;
use dyntick_lab::store::Run;
use dyntick_model::Clock;
use dyntick_report::numbers;
use dyntick_study::figure::table::STOLEN_NS;
use std::collections::BTreeSet;

/// The number of missing events, and of notes on one run, that are shown: a real one has a few.
const MOST_MISSING: usize = 32;
const MOST_NOTES: usize = 100;

/// The executor of the guests.
pub fn executor(runs: &[Titled<'_>]) -> (String, String) {
    let executor = |run: &Titled<'_>| format!("QEMU {}, {}", run.plan.qemu, run.plan.accelerator);
    ("executed by".to_owned(), distinct(runs.iter().map(executor).collect()))
}

/// The origin of the runs: clock, executor, kernels and settings.
pub fn provenance(titles: &Titles, runs: &[Titled<'_>]) -> Vec<(String, String)> {
    let all = |value: fn(&Titled<'_>) -> String| distinct(runs.iter().map(value).collect());
    let restless = |run: &Titled<'_>| {
        if run.analysis.outcome.settled.restless.is_empty() {
            "all other CPUs were idle before the window".to_owned()
        } else {
            format!(
                "CPU {} still busy when settle-limit expired ({})",
                run.analysis.outcome.settled.restless,
                run.title()
            )
        }
    };
    let mut pairs = vec![
        ("clock".to_owned(), all(|run| clock(run.plan.case.clock).to_owned())),
        executor(runs),
        ("guest".to_owned(), all(|run| settings::guest(&run.plan.case))),
        ("settling".to_owned(), all(restless)),
        ("trace events".to_owned(), all(trace_state)),
        ("trace events not available".to_owned(), all(|run| missing_events(run))),
    ];
    let of_kernels = kernels::pairs(titles, runs).into_iter().chain(kernels::changes(runs));
    pairs.splice(2..2, of_kernels);
    let disks = runs.iter().map(|run| (run.title_of_all(), run.plan.case.disk));
    pairs.extend(disks::in_words(disks).map(|message| ("disk".to_owned(), message)));
    let tools: BTreeSet<&str> =
        runs.iter().flat_map(|run| &run.plan.case.tools).map(String::as_str).collect();
    let hosts: Vec<String> =
        runs.iter().filter_map(|run| Some(run.plan.host.as_ref()?.to_string())).collect();
    if !hosts.is_empty() {
        pairs.insert(2, ("on the machine".to_owned(), distinct(hosts)));
    }
    if !tools.is_empty() {
        let tools: Vec<&str> = tools.into_iter().collect();
        pairs.push(("copied from this machine into the guest".to_owned(), tools.join(", ")));
    }
    let files: BTreeSet<&str> =
        runs.iter().flat_map(|run| run.plan.case.files.keys()).map(String::as_str).collect();
    if !files.is_empty() {
        let files: Vec<&str> = files.into_iter().collect();
        pairs.push(("files of the study in the guest".to_owned(), files.join(", ")));
    }
    pairs.extend(fallbacks(runs));
    pairs.extend(runs.iter().map(|run| (run.title().to_owned(), settings::others(&run.plan.case))));
    let taken = runs.iter().filter_map(|run| Some(format!("{}: {}", run.title(), taken_by_host(run)?)));
    pairs.extend(taken.map(|text| ("time taken by the host".to_owned(), text)));
    let notes = |run: &Titled<'_>| {
        let name = run.title();
        few(run.analysis.outcome.notes.iter().map(|note| format!("{name}: {note}")), MOST_NOTES)
    };
    pairs.extend(runs.iter().flat_map(notes).map(|note| ("note".to_owned(), note)));
    pairs
}

/// Kernels that may be others than their names mean: Debian could not be asked for them.
pub fn fallbacks(runs: &[Titled<'_>]) -> Option<(String, String)> {
    let fallback = |run: &Titled<'_>| {
        let how = run.plan.kernel_fallback.as_ref()?;
        Some(format!("{} ({}) is {how}", run.plan.case.kernel, run.plan.release))
    };
    let message = distinct(runs.iter().filter_map(fallback).collect());
    (!message.is_empty()).then(|| ("not asked of Debian".to_owned(), message))
}

/// The number of perturbed runs, which are not in the tables.
pub fn perturbed<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<(String, String)> {
    let changes: Vec<Perturbation> = runs.filter_map(|run| run.plan.perturbation).collect();
    let most = |of: fn(&Perturbation) -> u64| changes.iter().map(of).max();
    let (padding, shift_ns) = (most(|change| change.padding.into())?, most(|change| change.shift_ns)?);
    let message = format!(
        "{} more, not in the tables: up to {} bytes of padding at the start of the guest's image, the window up to {} \
         later; their figures are with the claims",
        changes.len(),
        numbers::count(padding),
        numbers::duration(shift_ns as f64)
    );
    Some(("perturbed runs".to_owned(), message))
}

/// The share of the window in which the host ran something else while a CPU of the guest was ready, by CPU.
fn taken_by_host(run: &Run) -> Option<String> {
    let (begin, end) = run.analysis.outcome.window_ns;
    let share = |row: &Observation| {
        let percent = 100.0 * row.value / (end - begin).max(1) as f64;
        Some(format!("at most {:.1} % from CPU {}", percent.min(100.0), row.cpu?))
    };
    let rows = run.analysis.observations.named(STOLEN_NS.name);
    let shares: Vec<String> = rows.filter_map(share).collect();
    (!shares.is_empty()).then(|| shares.join(", "))
}

fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::Virtual => {
            "virtual: one instruction is one nanosecond, idle time is skipped, every byte is repeatable; \
             caches, pipelines and real devices are not modelled"
        }
        Clock::Wall => "wall: real time, with all of this machine's noise",
    }
}

fn trace_state(run: &Titled<'_>) -> String {
    let recorded = match &run.plan.case.trace_cpus {
        Some(cpus) => format!("of CPU {cpus} only: "),
        None => String::new(),
    };
    match (run.analysis.lost_events.values().sum::<u64>(), run.analysis.undecoded) {
        (0, 0) => format!("{recorded}none lost, all decoded"),
        (lost, undecoded) => {
            format!("{recorded}{lost} LOST and {undecoded} not decoded in {}", run.title())
        }
    }
}

fn missing_events(run: &Run) -> String {
    let events = if run.analysis.missing_events.is_empty() {
        "none".to_owned()
    } else {
        few(run.analysis.missing_events.iter().cloned(), MOST_MISSING).join(", ")
    };
    format!("{}: {events}", kernel_of(run))
}
