// SPDX-License-Identifier: GPL-2.0-only
//! Two runs side by side: latencies quantile by quantile, profiles kind by kind and function by
//! function.

use crate::lab::CaseResult;
use crate::latency::Latency;
use crate::store::Run;
use dyntick_profile::{Difference, Sums, compare};
use dyntick_stats::Histogram;
use dyntick_study::figure::QUANTILES;
use dyntick_study::{Comparison, Study, claims};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Two runs compared. Figures of `with` come first; `more` is what those of `case` exceed them by.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Compared {
    /// The title.
    pub title: String,
    /// The id of the case.
    pub case: String,
    /// The id of the case that it is compared with.
    pub with: String,
    /// The distributions of latencies, ns; empty where one has none.
    pub latency: Vec<Shift>,
    /// The distributions themselves, `with` first; of two runs that both have one.
    #[serde(skip)]
    pub histograms: Option<[Histogram; 2]>,
    /// Mean instructions of each kind of span that both have.
    pub spans: Vec<SpanShift>,
    /// The functions of the kinds that were asked for.
    pub functions: Vec<(String, Difference)>,
    /// The kinds that were asked for and that one of both has not.
    pub missing: Vec<String>,
}

/// The shift of one point of a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Shift {
    /// `min`, `p50`, …, `max`, `mean`.
    pub point: String,
    /// There in the run that is compared with, ns.
    pub with: f64,
    /// There in the run, ns.
    pub case: f64,
}

/// Mean instructions of one kind of span.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SpanShift {
    /// The kind.
    pub kind: String,
    /// The number of spans in each run.
    pub counts: (u64, u64),
    /// Mean instructions in the run that is compared with.
    pub with: f64,
    /// Mean instructions in the run.
    pub case: f64,
}

/// All comparisons of a study among the runs that there are, in virtual time of the first repetition.
pub(crate) fn compare_all(study: &Study, results: &[CaseResult]) -> Vec<Compared> {
    study.comparisons.iter().flat_map(|comparison| pairs(study, comparison, results)).collect()
}

fn pairs(study: &Study, comparison: &Comparison, results: &[CaseResult]) -> Vec<Compared> {
    let run_of = |id: &str| {
        let of_case = results.iter().find(|result| result.case.id == id && result.repetition == 0);
        of_case.and_then(|result| result.run.as_ref().ok())
    };
    let compared = |case: &dyntick_study::Case| {
        let [with] = claims::references(case, &comparison.with, &study.cases)[..] else { return None };
        // Figures of two clocks are never compared.
        if with.clock != case.clock {
            return None;
        }
        Some(compared(comparison, run_of(&case.id)?, run_of(&with.id)?))
    };
    study.select(&comparison.case).filter_map(compared).collect()
}

fn compared(comparison: &Comparison, case: &Run, with: &Run) -> Compared {
    let none = BTreeMap::new();
    let kinds = [with, case].map(|run| run.analysis.spans.as_ref().map_or(&none, |spans| &spans.kinds));
    let functions = comparison.spans.iter().filter_map(|kind| {
        let difference = compare(kinds[0].get(kind)?, kinds[1].get(kind)?);
        Some((kind.clone(), difference))
    });
    let latencies = with.analysis.latency.as_ref().zip(case.analysis.latency.as_ref());
    Compared {
        title: comparison.title.clone(),
        case: case.plan.case.id.clone(),
        with: with.plan.case.id.clone(),
        latency: latencies.map_or(Vec::new(), |(a, b)| shifts(a, b)),
        histograms: latencies.map(|(a, b)| [a.all(), b.all()]),
        functions: functions.collect(),
        missing: comparison
            .spans
            .iter()
            .filter(|kind| !kinds.iter().all(|kinds| kinds.contains_key(*kind)))
            .cloned()
            .collect(),
        spans: span_shifts(kinds[0], kinds[1]),
    }
}

/// Kinds with fewer spans than this differ by chance.
const FEWEST: u64 = 20;

fn span_shifts(with: &BTreeMap<String, Sums>, case: &BTreeMap<String, Sums>) -> Vec<SpanShift> {
    let shift = |(kind, b): (&String, &Sums)| {
        let a = with.get(kind)?;
        (a.count.min(b.count) >= FEWEST).then(|| SpanShift {
            kind: kind.clone(),
            counts: (a.count, b.count),
            with: a.mean(),
            case: b.mean(),
        })
    };
    let mut shifts: Vec<SpanShift> = case.iter().filter_map(shift).collect();
    shifts.sort_by(|a, b| (b.case - b.with).abs().total_cmp(&(a.case - a.with).abs()));
    shifts
}

fn shifts(with: &Latency, case: &Latency) -> Vec<Shift> {
    let (a, b) = (with.all(), case.all());
    let point = |name: &str, share: f64| {
        let (with, case) = (a.quantile(share)? as f64, b.quantile(share)? as f64);
        Some(Shift { point: name.to_owned(), with, case })
    };
    let ends = [("min", 0.0)].into_iter().chain(QUANTILES).chain([("max", 1.0)]);
    let mut shifts: Vec<Shift> = ends.filter_map(|(name, share)| point(name, share)).collect();
    let means = a.mean().zip(b.mean());
    shifts.extend(means.map(|(with, case)| Shift { point: "mean".to_owned(), with, case }));
    shifts
}
