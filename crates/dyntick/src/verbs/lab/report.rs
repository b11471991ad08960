// SPDX-License-Identifier: GPL-2.0-only
//! The report of a study: the result first, then the figures that it rests on, then the method.

mod answer;
mod claims;
mod effects;
mod idle;
mod latency;
mod measures;
mod method;
mod overview;
mod setups;
mod sides;
mod titles;
mod why;

pub use answer::Page;
pub use claims::Ran;
pub use method::command;

use crate::few::few;
use dyntick_explain::Summary;
use dyntick_kernels::build::private_note;
use dyntick_lab::judgement::Judgement;
use dyntick_lab::lab::{CaseResult, LabError};
use dyntick_lab::store::Run;
use dyntick_report::{Block, Document, Failure, Verdict};
use measures::Material;
use titles::{Titled, Titles};

/// A window shorter than this is not what its study is about, but its script is, ns.
const LEAST_WINDOW_NS: u64 = 100_000_000;

/// A timeline with more lanes than this would push all that follows off the first screen.
const MOST_LANES: usize = 16;

/// The number of cases without a run that are named.
const MOST_NOT_RUN: usize = 32;

/// The complete report of a study, and a short one for a page.
pub fn documents(judgement: &Judgement<'_>, page: &Page<'_>) -> (Document, Document) {
    let (study, results) = (judgement.study, &judgement.results[..]);
    let titles = Titles::of(study);
    let all: Vec<&Run> = results.iter().filter_map(|result| result.run.as_ref().ok()).collect();
    let own = |run: &&&Run| run.plan.perturbation.is_none();
    let runs: Vec<Titled<'_>> = titles.give(all.iter().filter(own).copied());
    let windows: Vec<Titled<'_>> =
        runs.iter().filter(|run| window_ns(run) >= LEAST_WINDOW_NS).cloned().collect();
    let ran = Ran::of(study, results);
    let cases = claims::Cases::of(&ran, &runs);
    let verdicts: Vec<Verdict> = judgement.verdicts.iter().map(|verdict| cases.verdict(verdict)).collect();

    let mut blocks = Vec::new();
    if !verdicts.is_empty() {
        blocks.push(Block::Scores(verdicts.clone()));
    }
    let not_run_cases = ran.not_run();
    let material = Material {
        study,
        titles: &titles,
        results,
        verdicts: &verdicts,
        runs: &runs,
        perturbed: all.len() - runs.len(),
        effects: &judgement.effects,
        comparisons: &judgement.comparisons,
        not_run: &not_run_cases,
        failed: judgement.verdicts.iter().flat_map(|verdict| &verdict.failed).collect(),
        of_others: of_others(&all),
    };
    let (picture, timeline) = pictures(&runs, &windows);
    blocks.extend(picture);
    blocks.extend(not_run(&not_run_cases));
    blocks.extend(sides::side_by_side(study, &titles, results));
    blocks.extend(figures(judgement, &runs, &windows));
    blocks.extend(timeline);
    if !windows.is_empty() {
        blocks.push(Block::Heading("Causes and fixes".into()));
        blocks.extend(why::findings(&windows));
    }
    if !verdicts.is_empty() {
        let heading = if study.published.is_some() { "The published claims" } else { "The claims" };
        blocks.push(Block::Heading(heading.into()));
        blocks.push(Block::Verdicts(verdicts.clone()));
    }
    let failures: Vec<Failure> = results.iter().filter_map(|result| failure(&titles, result)).collect();
    if !failures.is_empty() {
        blocks.push(Block::Heading("Failed runs".into()));
        blocks.push(Block::Failures(failures));
    }
    if !study.description.is_empty() {
        blocks.push(Block::Heading("About this study".into()));
        blocks.push(Block::Paragraph(study.description.clone()));
    }
    if !runs.is_empty() {
        blocks.push(Block::Heading("How it was measured".into()));
        let perturbed = method::perturbed(all.iter().filter(|run| !own(run)).copied());
        let private = study.kernels.iter().filter_map(|(name, recipe)| Some((name, private_note(recipe)?)));
        let private = private.map(|(name, told)| (format!("kernel {name}"), told));
        let pairs = method::provenance(&titles, &runs).into_iter().chain(perturbed).chain(private);
        blocks.push(Block::Pairs(pairs.collect()));
    }
    let document = Document {
        title: study.title.clone(),
        question: study.question.clone(),
        lead: lead(&material),
        blocks,
        origin: Some(method::origin()),
    };
    let brief = answer::document(&document, &material, page);
    (document, brief)
}

/// The answer, and the runs that it follows from.
fn lead(material: &Material<'_>) -> Vec<String> {
    let mut lead = vec![format!(
        "Answer: {}",
        answer::answer(material, &material.measures().iter().collect::<Vec<_>>())
    )];
    if !material.runs.is_empty() {
        lead.push(format!("From {}", answer::from(material)));
    }
    lead.extend(material.of_others.clone());
    lead
}

/// The picture for the first screen, and the blocks of a timeline that has its place further down.
fn pictures(runs: &[Titled<'_>], windows: &[Titled<'_>]) -> (Option<Block>, Vec<Block>) {
    let latencies = latency::picture(runs).map(Block::Plot);
    let timeline = (!windows.is_empty()).then(|| Block::Timeline(overview::timeline(windows)));
    if latencies.is_none() && windows.len() <= MOST_LANES {
        (timeline, Vec::new())
    } else {
        let heading = |block| [Block::Heading("Timeline".into()), block];
        (latencies, timeline.into_iter().flat_map(heading).collect())
    }
}

/// All tables and plots, in the order of what the study is about: a study of latencies is answered by them,
/// another one by what interrupted the CPUs.
fn figures(judgement: &Judgement<'_>, runs: &[Titled<'_>], windows: &[Titled<'_>]) -> Vec<Block> {
    let study = judgement.study;
    let mut overview = Vec::new();
    if !windows.is_empty() {
        overview.push(Block::Heading("Interruptions of the measured CPUs".into()));
        overview.extend(overview::blocks(windows));
    }
    let published = study.published.iter().filter(|_| !runs.is_empty());
    let beside: Vec<Block> = published
        .flat_map(|published| {
            let heading = Block::Heading("Published figures".into());
            [heading, Block::Table(claims::published_table(published, study, runs))]
        })
        .collect();
    let mut latencies = latency::qperf_blocks(runs);
    latencies.extend(latency::blocks(runs));
    let mut blocks = if latencies.is_empty() {
        [overview, beside].concat()
    } else {
        [beside, latencies, overview].concat()
    };
    blocks.extend(effects::blocks(&judgement.effects));
    blocks.extend(why::calls_blocks(runs));
    blocks.extend(idle::blocks(runs));
    blocks.extend(effects::comparisons(&judgement.comparisons));
    blocks
}

/// The cases without a run. The command at the end of the report runs them.
fn not_run(ids: &[&str]) -> Vec<Block> {
    if ids.is_empty() {
        return Vec::new();
    }
    let names = few(ids.iter().map(|id| (*id).to_owned()), MOST_NOT_RUN).join(", ");
    let count = dyntick_report::numbers::counted(ids.len() as u64, "case");
    vec![Block::Paragraph(format!(
        "{count} not run, or changed in the study since then: {names}. The command at the end runs what is missing."
    ))]
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

fn window_ns(run: &Run) -> u64 {
    run.analysis.outcome.window_ns.1 - run.analysis.outcome.window_ns.0
}

/// The summaries of the measured CPUs.
fn measured(run: &Run) -> impl Iterator<Item = &Summary> {
    run.analysis.cpus.iter().filter(|summary| run.plan.case.measured_cpus.contains(summary.cpu))
}

/// A run that failed; one that was not run has not.
fn failure(titles: &Titles, result: &CaseResult) -> Option<Failure> {
    let error = result.run.as_ref().err().filter(|error| !matches!(error, LabError::NotRun))?;
    Some(Failure {
        name: if result.is_perturbed() {
            format!("{}, perturbed run {}", titles.of_case(&result.case), result.repetition)
        } else {
            titles.of_case(&result.case)
        },
        reason: error.to_string(),
        console: result.console_tail().to_vec(),
    })
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

#[cfg(test)]
mod tests;
