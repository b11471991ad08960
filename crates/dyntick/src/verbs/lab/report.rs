// SPDX-License-Identifier: GPL-2.0-only
//! From a study's runs to the document that is printed.

mod beside;
mod calls;
mod compare;
mod disks;
mod effects;
mod idle;
mod latency;
mod qperf;
mod when;
mod why;

use crate::few::few;
use dyntick_explain::{Summary, rules};
use dyntick_formats::Observation;
use dyntick_lab::compare::Compared;
use dyntick_lab::effects::Found;
use dyntick_lab::figures::figure_of;
use dyntick_lab::lab::CaseResult;
use dyntick_lab::perturb::Perturbation;
use dyntick_lab::store::Run;
use dyntick_model::Clock;
use dyntick_report::{Block, Column, Document, Failure, Ruling, Table, Verdict, numbers};
use dyntick_study::Study;
use dyntick_study::claims;
use dyntick_study::figure::table::STOLEN_NS;
use std::collections::BTreeSet;

/// A window shorter than this is not what its study is about, but its script is, ns.
const LEAST_WINDOW_NS: u64 = 100_000_000;

/// So many events that a kernel lacks, and notes of one run, are told: of a real one it is a few.
const MOST_MISSING: usize = 32;
const MOST_NOTES: usize = 100;

/// The whole report of a study.
pub fn document(
    study: &Study,
    results: &[CaseResult],
    verdicts: &[claims::Verdict],
    comparisons: &[Compared],
    effects: &[Found],
) -> Document {
    let all: Vec<&Run> = results.iter().filter_map(|result| result.run.as_ref().ok()).collect();
    let own = |run: &&Run| run.asked.perturbation.is_none();
    let runs: Vec<&Run> = all.iter().copied().filter(own).collect();
    let windows: Vec<&Run> = runs.iter().filter(|run| window_ns(run) >= LEAST_WINDOW_NS).copied().collect();
    let mut blocks = Vec::new();
    if !verdicts.is_empty() {
        blocks.push(Block::Heading("Summary".into()));
        blocks.push(Block::Table(answers(verdicts)));
    }
    let overview = match windows.is_empty() {
        true => Vec::new(),
        false => {
            vec![
                Block::Heading("Interruptions of the measured CPUs".into()),
                Block::Table(overview(&windows)),
            ]
        }
    };
    let published = study.published.iter().filter(|_| !runs.is_empty());
    let beside = published.map(|published| Block::Table(beside::table(published, study, &runs)));
    let mut latencies = qperf::blocks(&runs);
    latencies.extend(latency::blocks(&runs));
    // A study of latencies is answered by them, another one by what interrupted the CPUs.
    match latencies.is_empty() {
        true => blocks.extend(overview.into_iter().chain(beside)),
        false => blocks.extend(beside.chain(latencies).chain(overview)),
    }
    blocks.extend(effects::blocks(effects));
    blocks.extend(calls::blocks(&runs));
    blocks.extend(idle::blocks(&runs));
    blocks.extend(compare::blocks(comparisons));
    if !windows.is_empty() {
        blocks.push(Block::Heading("Timeline".into()));
        blocks.push(Block::Timeline(when::timeline(&windows)));
        blocks.push(Block::Heading("Causes and fixes".into()));
        blocks.extend(why::findings(&windows));
    }
    if !verdicts.is_empty() {
        blocks.push(Block::Heading("The published claims".into()));
        blocks.push(Block::Verdicts(verdicts.iter().map(verdict).collect()));
    }
    let failures: Vec<Failure> = results.iter().filter_map(failure).collect();
    if !failures.is_empty() {
        blocks.push(Block::Heading("Failed runs".into()));
        blocks.push(Block::Failures(failures));
    }
    if !runs.is_empty() {
        blocks.push(Block::Heading("How it was measured".into()));
        let perturbed = perturbed(all.iter().filter(|run| !own(run)).copied()).into_iter();
        blocks.push(Block::Pairs(provenance(&runs).into_iter().chain(perturbed).collect()));
    }
    let description = Some(study.description.clone()).filter(|text| !text.is_empty());
    Document {
        title: study.title.clone(),
        question: study.question.clone(),
        lead: of_others(&all).into_iter().chain(description).collect(),
        blocks,
    }
}

/// Says so where figures and rulings rest on runs that came from elsewhere.
fn of_others(runs: &[&Run]) -> Option<String> {
    let others = runs.iter().filter(|run| !run.made_here).count();
    (others > 0).then(|| {
        format!(
            "{others} of these {} runs were not made by this user's laboratory: their figures, and the rulings on \
             them, are unverified. Use `dyntick lab verify RUN` to re-run one and compare.",
            runs.len()
        )
    })
}

/// Each claim with its ruling; what the rulings stand on is further down.
fn answers(verdicts: &[claims::Verdict]) -> Table {
    Table {
        caption: "Published claims, and the findings here; the evidence is below.".into(),
        columns: vec![Column::text("claim"), Column::text("here")],
        rows: verdicts.iter().map(|verdict| vec![verdict.claim.text.clone(), verdict.summary()]).collect(),
        notes: Vec::new(),
    }
}

fn window_ns(run: &Run) -> u64 {
    run.outcome.window_ns.1 - run.outcome.window_ns.0
}

/// What of a run concerns the measured CPUs.
fn measured(run: &Run) -> impl Iterator<Item = &Summary> {
    run.explanation.per_cpu.iter().filter(|summary| run.asked.case.measured_cpus.contains(summary.cpu))
}

/// The case's name with the kernel's series, as `nohz-full 6.12`.
fn name_of(run: &Run) -> String {
    let version = &run.asked.release;
    let case = &run.asked.case;
    let repetition = if case.repeat > 1 { format!(" #{}", run.asked.repetition + 1) } else { String::new() };
    format!("{}{}, {}.{}{repetition}", case.name, labels_of(run), version.major, version.minor)
}

/// What tells a run from the others of its case, as `: stat60`: its labels, but not that of a
/// packaged kernel, whose series stands beside.
fn labels_of(run: &Run) -> String {
    let version = &run.asked.release;
    let series = format!("{}.{}", version.major, version.minor);
    let case = &run.asked.case;
    let beside = |label: &str| label == series || (label == case.kernel && case.recipe.is_none());
    let labels: Vec<&str> = case.labels().filter(|label| !beside(label)).collect();
    if labels.is_empty() { String::new() } else { format!(": {}", labels.join(", ")) }
}

fn overview(runs: &[&Run]) -> Table {
    let row = |run: &&Run| {
        let sum = |figure: fn(&Summary) -> f64| measured(run).map(figure).sum::<f64>();
        let cpus = run.asked.case.measured_cpus.len() as f64;
        vec![
            format!("{}{}", run.asked.case.title, labels_of(run)),
            format!("{}.{}", run.asked.release.major, run.asked.release.minor),
            numbers::rate(sum(|s| s.local_timer_per_second)),
            numbers::rate(sum(|s| s.ticks_per_second)),
            numbers::percent(sum(|s| s.share_of_hz) / cpus),
            numbers::count(sum(|s| s.interruptions as f64) as u64),
            figure_of(run, "script_s", None).map_or(String::new(), |seconds| format!("{seconds:.4}")),
            main_cause(run),
        ]
    };
    let hz: Vec<String> = runs.iter().map(|run| run.asked.hz.to_string()).collect();
    let windows: Vec<String> = runs
        .iter()
        .map(|run| format!("{} s", numbers::plain((window_ns(run) as f64 / 1e8).round() / 10.0)))
        .collect();
    Table {
        caption: format!("HZ={} in these kernels; windows of {}.", distinct(hz), distinct(windows)),
        columns: vec![
            Column::text("case"),
            Column::text("Linux"),
            Column::figure("timer irqs", "1/s"),
            Column::figure("ticks", "1/s"),
            Column::figure("of HZ", ""),
            Column::figure("all", "count"),
            Column::figure("script", "s"),
            Column::text("main cause"),
        ],
        rows: runs.iter().map(row).collect(),
        notes: vec![
            "timer irqs: local timer interrupts (ticks and all other timers), as perf's \
             irq_vectors:local_timer_entry counts them; all: interruptions of every kind in the window."
                .into(),
        ],
    }
}

fn main_cause(run: &Run) -> String {
    let most =
        measured(run).flat_map(|summary| &summary.by_cause).max_by_key(|cause| (cause.ticks, cause.count));
    most.map_or("none: not interrupted".to_owned(), |cause| rules::title(&cause.cause))
}

/// The case's title with what tells the run from others of it, and the kernel's series.
fn title_of_run(run: &Run) -> String {
    let version = &run.asked.release;
    format!("{}{}, {}.{}", run.asked.case.title, labels_of(run), version.major, version.minor)
}

fn verdict(verdict: &claims::Verdict) -> Verdict {
    let ruling = |ruling: claims::Ruling| match ruling {
        claims::Ruling::Reproduced => Ruling::Reproduced,
        claims::Ruling::Inconclusive => Ruling::Inconclusive,
        claims::Ruling::NotReproduced => Ruling::NotReproduced,
        claims::Ruling::CannotTell => Ruling::CannotTell,
    };
    Verdict {
        claim: verdict.claim.text.clone(),
        rulings: verdict.rulings.iter().map(|(variant, r)| (variant.clone(), ruling(*r))).collect(),
        rests_on: verdict.assumption().unwrap_or_default(),
        evidence: verdict.evidence.clone(),
        comment: verdict.claim.comment.clone().unwrap_or_default(),
    }
}

fn failure(result: &CaseResult) -> Option<Failure> {
    let error = result.run.as_ref().err()?;
    Some(Failure {
        name: match result.is_perturbed() {
            true => format!("{}, perturbed run {}", result.case.id, result.repetition),
            false => result.case.id.clone(),
        },
        reason: error.to_string(),
        console: result.console_tail.clone(),
    })
}

fn provenance(runs: &[&Run]) -> Vec<(String, String)> {
    let all = |value: fn(&Run) -> String| distinct(runs.iter().map(|run| value(run)).collect());
    let restless = |run: &Run| match run.outcome.settled.restless.is_empty() {
        true => "all other CPUs were idle before the window".to_owned(),
        false => format!(
            "CPU {} still busy when settle-limit expired ({})",
            run.outcome.settled.restless, run.asked.case.id
        ),
    };
    let mut pairs = vec![
        ("clock".to_owned(), all(|run| clock(run.asked.case.clock).to_owned())),
        ("executed by".to_owned(), all(|run| format!("QEMU {}, {}", run.asked.qemu, run.asked.accelerator))),
        ("kernel".to_owned(), all(|run| format!("{}, {}", run.asked.release, run.asked.kernel_source))),
        ("settling".to_owned(), all(restless)),
        ("trace events".to_owned(), all(trace_state)),
        ("trace events not available".to_owned(), all(missing_events)),
    ];
    let disks = runs.iter().map(|run| (run.asked.case.id.as_str(), run.asked.case.disk));
    pairs.extend(disks::told(disks).map(|told| ("disk".to_owned(), told)));
    let tools: BTreeSet<&str> =
        runs.iter().flat_map(|run| &run.asked.case.tools).map(String::as_str).collect();
    let hosts: Vec<String> =
        runs.iter().filter_map(|run| Some(run.asked.host.as_ref()?.to_string())).collect();
    if !hosts.is_empty() {
        pairs.insert(2, ("on the machine".to_owned(), distinct(hosts)));
    }
    if !tools.is_empty() {
        let tools: Vec<&str> = tools.into_iter().collect();
        pairs.push(("copied from this machine into the guest".to_owned(), tools.join(", ")));
    }
    let files: BTreeSet<&str> =
        runs.iter().flat_map(|run| run.asked.case.files.keys()).map(String::as_str).collect();
    if !files.is_empty() {
        let files: Vec<&str> = files.into_iter().collect();
        pairs.push(("files of the study in the guest".to_owned(), files.join(", ")));
    }
    pairs.extend(runs.iter().map(|run| (name_of(run), run.asked.case.append.to_string())));
    let taken = runs.iter().filter_map(|run| Some(format!("{}: {}", name_of(run), taken_by_host(run)?)));
    pairs.extend(taken.map(|text| ("time taken by the host".to_owned(), text)));
    let notes = |run: &&Run| {
        let name = name_of(run);
        few(run.outcome.notes.iter().map(|note| format!("{name}: {note}")), MOST_NOTES)
    };
    pairs.extend(runs.iter().flat_map(notes).map(|note| ("note".to_owned(), note)));
    pairs
}

/// How many further runs stand beside those of the tables.
fn perturbed<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<(String, String)> {
    let changes: Vec<Perturbation> = runs.filter_map(|run| run.asked.perturbation).collect();
    let most = |of: fn(&Perturbation) -> u64| changes.iter().map(of).max();
    let (padding, shift_ns) = (most(|change| change.padding.into())?, most(|change| change.shift_ns)?);
    let told = format!(
        "{} more, not in the tables: up to {} bytes of padding at the start of the guest's image, the window up to {} \
         later; their figures are with the claims",
        changes.len(),
        numbers::count(padding),
        numbers::duration(shift_ns as f64)
    );
    Some(("perturbed runs".to_owned(), told))
}

/// How much of the window the host ran something else while a CPU of the guest was ready, by CPU.
fn taken_by_host(run: &Run) -> Option<String> {
    let (begin, end) = run.outcome.window_ns;
    let share = |row: &Observation| {
        let percent = 100.0 * row.value / (end - begin).max(1) as f64;
        Some(format!("at most {:.1} % from CPU {}", percent.min(100.0), row.cpu?))
    };
    let rows = run.observations.named(STOLEN_NS.name);
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

fn trace_state(run: &Run) -> String {
    let recorded = match &run.asked.case.trace_cpus {
        Some(cpus) => format!("of CPU {cpus} only: "),
        None => String::new(),
    };
    match (run.lost_events.values().sum::<u64>(), run.undecoded) {
        (0, 0) => format!("{recorded}none lost, all decoded"),
        (lost, undecoded) => {
            format!("{recorded}{lost} LOST and {undecoded} not decoded in {}", run.asked.case.id)
        }
    }
}

fn missing_events(run: &Run) -> String {
    let version = &run.asked.release;
    let events = match run.missing_events.is_empty() {
        true => "none".to_owned(),
        false => few(run.missing_events.iter().cloned(), MOST_MISSING).join(", "),
    };
    format!("{}.{}: {events}", version.major, version.minor)
}

/// Different texts among these, joined.
fn distinct(mut texts: Vec<String>) -> String {
    let mut seen = Vec::new();
    texts.retain(|text| {
        !seen.contains(text) && {
            seen.push(text.clone());
            true
        }
    });
    texts.join("; ")
}
