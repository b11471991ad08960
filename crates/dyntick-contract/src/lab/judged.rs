// SPDX-License-Identifier: GPL-2.0-only
//! The JSON of `lab run --json` and `lab report --json`: a study with its runs, judged.

use dyntick_explain::Summary;
use dyntick_formats::Observation;
use dyntick_guest::Outcome;
use dyntick_lab::idle::Limits;
use dyntick_lab::judgement::{Compared, Found, Judgement};
use dyntick_lab::lab::CaseResult;
use dyntick_lab::plan::Plan;
use dyntick_lab::store::Run;
use dyntick_study::{Study, claims, figure};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A study's runs, judged.
#[derive(Serialize, JsonSchema)]
pub struct Judged<'a> {
    /// The study, its matrices expanded.
    pub study: &'a Study,
    /// The runs, including those that failed.
    pub runs: Vec<JudgedRun<'a>>,
    /// The claims with their rulings.
    pub verdicts: &'a [claims::Verdict],
    /// The comparisons (`[[compare]]`).
    pub comparisons: &'a [Compared],
    /// The effects (`[[effects]]`).
    pub effects: &'a [Found],
}

impl<'a> Judged<'a> {
    /// The JSON of a judgement.
    pub fn of(judgement: &'a Judgement<'_>) -> Self {
        Self {
            study: judgement.study,
            runs: judgement.results.iter().map(JudgedRun::of).collect(),
            verdicts: &judgement.verdicts,
            comparisons: &judgement.comparisons,
            effects: &judgement.effects,
        }
    }
}

/// The result of one run.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum JudgedRun<'a> {
    /// The run is complete.
    Complete(Box<CompleteRun<'a>>),
    /// The run failed.
    Failed {
        /// The id of its case.
        case: &'a str,
        /// The repetition, from 0.
        repetition: u32,
        /// The reason.
        failure: String,
        /// The last lines of the guest's console.
        console: &'a [String],
    },
}

/// A complete run.
#[derive(Serialize, JsonSchema)]
pub struct CompleteRun<'a> {
    /// The id of its case.
    case: &'a str,
    /// The repetition, from 0.
    repetition: u32,
    /// The folder.
    folder: &'a Path,
    /// True if this user's laboratory made it, as its seal says.
    made_here: bool,
    /// The plan that it executed.
    asked: &'a Plan,
    /// The agent's report.
    outcome: &'a Outcome,
    /// All figures.
    observations: Vec<Observed<'a>>,
    /// The interruptions of each CPU.
    cpus: &'a [Summary],
    /// The number of lost trace events.
    lost_events: u64,
    /// The same by CPU.
    lost_events_by_cpu: &'a BTreeMap<u32, u64>,
    /// The latency limits (PM QoS) before and after the window, of a guest with idle states; null where they are
    /// not recorded.
    latency_limits: Option<&'a Limits>,
    /// Trace records that were not understood.
    undecoded: u64,
    /// Trace events that the kernel does not have.
    missing_events: &'a [String],
}

/// One figure of a run.
#[derive(Serialize, JsonSchema)]
pub struct Observed<'a> {
    #[serde(flatten)]
    observation: &'a Observation,
    /// The quantile that the value is, 0 to 1: 0.99 for `latency_ns:p99`, in the figure's unit. Absent if it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    quantile: Option<f64>,
}

impl<'a> Observed<'a> {
    fn of(observation: &'a Observation) -> Self {
        Self { observation, quantile: figure::quantile(&observation.figure, &observation.key) }
    }
}

impl<'a> JudgedRun<'a> {
    /// The JSON of a result.
    fn of(result: &'a CaseResult) -> Self {
        let (case, repetition) = (result.case.id.as_str(), result.repetition);
        match &result.run {
            Ok(run) => Self::Complete(Box::new(CompleteRun::of(case, repetition, run))),
            Err(error) => {
                Self::Failed { case, repetition, failure: error.to_string(), console: result.console_tail() }
            }
        }
    }
}

impl<'a> CompleteRun<'a> {
    fn of(case: &'a str, repetition: u32, run: &'a Run) -> Self {
        Self {
            case,
            repetition,
            folder: &run.folder,
            made_here: run.made_here,
            asked: &run.plan,
            outcome: &run.analysis.outcome,
            observations: run.analysis.observations.iter().map(Observed::of).collect(),
            cpus: &run.analysis.cpus,
            lost_events: run.analysis.lost_events.values().sum(),
            lost_events_by_cpu: &run.analysis.lost_events,
            latency_limits: run.analysis.idle.as_ref().and_then(|idle| idle.limits.as_ref()),
            undecoded: run.analysis.undecoded,
            missing_events: &run.analysis.missing_events,
        }
    }
}
