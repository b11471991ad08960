// SPDX-License-Identifier: GPL-2.0-only
//! Threads, CPUs and jobs of a run, put together: they are parts of one run, and do not repeat it.

use crate::distribution::{Grouped, POINTS, Point};
use crate::{Exposure, Metric, MetricName, Samples, Values, median};
use dyntick_model::text::natural_order;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The threads, CPUs or jobs that a row puts together. The row's name has a `*` in place of their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fold {
    /// The members, by their numbers.
    pub members: Vec<Member>,
}

/// The figures of one thread, CPU or job. They are not judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// The part of the name that differs, e.g. `T3` or `cpu12`.
    pub name: String,
    /// The median of the runs of both sides; for a distribution at each point that both have.
    pub figures: Vec<(Option<Point>, [f64; 2])>,
}

impl Fold {
    /// The smallest and the largest figure of a side's members.
    pub(super) fn range(&self, side: usize, point: Option<Point>) -> Option<[f64; 2]> {
        let values = self.members.iter().filter_map(|member| member.at(point).map(|figures| figures[side]));
        values.fold(None, |range: Option<[f64; 2]>, value| {
            Some(range.map_or([value; 2], |[low, high]| [low.min(value), high.max(value)]))
        })
    }
}

impl Member {
    /// The figures of both sides at a point; `None` is that of a single figure.
    pub fn at(&self, point: Option<Point>) -> Option<[f64; 2]> {
        self.figures.iter().find(|(other, _)| *other == point).map(|(_, figures)| *figures)
    }
}

/// A metric of both sides.
pub(super) struct Pair<'a> {
    pub name: MetricName,
    pub metrics: [Cow<'a, Metric>; 2],
    pub fold: Option<Fold>,
}

/// The name of all threads, CPUs or jobs alike, and that of the one in this name; none if the name has none.
pub fn family(name: &str) -> Option<(String, &str)> {
    let mut at = 0;
    for part in name.split('/') {
        let rest = &name[at + part.len()..];
        if let Some(stem) = stem(part).filter(|_| !rest.is_empty()) {
            return Some((format!("{}{stem}*{rest}", &name[..at]), part));
        }
        at += part.len() + 1;
    }
    None
}

/// The part of a member's name that all members share.
fn stem(part: &str) -> Option<&str> {
    if let Some((job, number)) = part.rsplit_once('#') {
        return Some(job).filter(|_| is_number(number));
    }
    let stem = part.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_known = ["T", "cpu", "CPU", "core", "thread", "S", "D", "N", "pair"].contains(&stem);
    if is_known && stem.len() < part.len() {
        return Some(stem);
    }
    // A place in the machine, as perf names it: S0-D0-C1.
    let is_piece = |piece: &str| {
        let letters = piece.trim_end_matches(|c: char| c.is_ascii_digit());
        letters.len() < piece.len()
            && (1..=2).contains(&letters.len())
            && letters.chars().all(|c| c.is_ascii_uppercase())
    };
    (part.contains('-') && part.split('-').all(is_piece)).then_some("")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

type Metrics = BTreeMap<MetricName, Metric>;

/// The metrics that both sides have; those of threads, CPUs and jobs that both have are put together.
pub(super) fn pairs<'a>(a: &'a Metrics, b: &'a Metrics) -> Vec<Pair<'a>> {
    let common: BTreeSet<&MetricName> = a.keys().filter(|name| b.contains_key(*name)).collect();
    let mut families: BTreeMap<String, Vec<(String, &MetricName)>> = BTreeMap::new();
    for name in &common {
        if let Some((all, member)) = family(name.as_str()) {
            families.entry(all).or_default().push((member.to_owned(), name));
        }
    }
    // The first of several jobs has no number: `job`, `job#2`.
    for (all, members) in &mut families {
        let first = MetricName::new(&all.replacen('*', "", 1)).and_then(|name| common.get(&name).copied());
        if let Some((first, other)) = first.zip(members.first().map(|(member, _)| member.clone())) {
            members.push((other.split('#').next().unwrap_or_default().to_owned(), first));
        }
    }
    let (mut pairs, mut folded): (Vec<Pair<'a>>, BTreeSet<&MetricName>) = (Vec::new(), BTreeSet::new());
    for (all, mut members) in families {
        members.sort_by(|a, b| natural_order(&a.0, &b.0));
        let of =
            |side: &'a Metrics| members.iter().map(|(_, name)| &side[*name]).collect::<Vec<&'a Metric>>();
        let sides = [of(a), of(b)];
        let Some(name) = MetricName::new(&all).filter(|_| members.len() > 1 && are_alike(&sides)) else {
            continue;
        };
        let fold = Fold {
            members: members
                .iter()
                .enumerate()
                .filter_map(|(at, (member, _))| {
                    Some(Member { name: member.clone(), figures: figures([sides[0][at], sides[1][at]])? })
                })
                .collect(),
        };
        let metrics = sides.map(|side| Cow::Owned(together(&all, &side)));
        folded.extend(members.iter().map(|(_, name)| *name));
        pairs.push(Pair { name, metrics, fold: Some(fold) });
    }
    let single = common.into_iter().filter(|name| !folded.contains(name));
    pairs.extend(single.map(|name| Pair {
        name: name.clone(),
        metrics: [Cow::Borrowed(&a[name]), Cow::Borrowed(&b[name])],
        fold: None,
    }));
    pairs
}

/// Returns true if all metrics of a side have the same unit and as many runs, and both sides the same kind.
fn are_alike(sides: &[Vec<&Metric>; 2]) -> bool {
    let kind =
        |metric: &Metric| (metric.unit.clone(), metric.clock, matches!(metric.values, Values::Runs(_)));
    let runs = |metric: &Metric| match &metric.values {
        Values::Runs(values) => values.len(),
        Values::Distribution(runs) => runs.len(),
    };
    let first = kind(sides[0][0]);
    sides.iter().all(|side| side.iter().all(|metric| kind(metric) == first && runs(metric) == runs(side[0])))
}

fn figures(sides: [&Metric; 2]) -> Option<Vec<(Option<Point>, [f64; 2])>> {
    match (&sides[0].values, &sides[1].values) {
        (Values::Runs(a), Values::Runs(b)) => Some(vec![(None, [median(a)?.value, median(b)?.value])]),
        (Values::Distribution(a), Values::Distribution(b)) => {
            let grouped =
                [a, b].map(|runs| runs.iter().map(|run| Grouped::of([run])).collect::<Vec<Grouped>>());
            let value = |runs: &[Grouped], point| {
                let values: Vec<f64> = runs.iter().map(|run| run.value(point)).collect::<Option<_>>()?;
                Some(median(&values)?.value)
            };
            let at = |point| Some((Some(point), [value(&grouped[0], point)?, value(&grouped[1], point)?]));
            Some(POINTS.into_iter().filter_map(at).collect())
        }
        _ => None,
    }
}

/// The metric of all members: in each run all samples, the largest maximum, the smallest minimum, or the mean.
fn together(all: &str, members: &[&Metric]) -> Metric {
    let word = all.rsplit('/').next().unwrap_or(all);
    let mut metric = members[0].clone();
    match &mut metric.values {
        Values::Runs(values) => {
            for (at, value) in values.iter_mut().enumerate() {
                let each = members.iter().filter_map(|member| match &member.values {
                    Values::Runs(values) => values.get(at),
                    Values::Distribution(_) => None,
                });
                *value = match word {
                    _ if word.starts_with("max") => each.copied().fold(f64::NEG_INFINITY, f64::max),
                    _ if word.starts_with("min") => each.copied().fold(f64::INFINITY, f64::min),
                    _ => each.sum::<f64>() / members.len() as f64,
                };
            }
        }
        Values::Distribution(runs) => {
            for (at, run) in runs.iter_mut().enumerate() {
                *run = merged(members.iter().filter_map(|member| match &member.values {
                    Values::Distribution(runs) => runs.get(at),
                    Values::Runs(_) => None,
                }));
            }
        }
    }
    let about = &mut metric.about;
    about.step = members.iter().map(|member| member.about.step).fold(0.0, f64::max);
    for (at, exposure) in about.exposure.iter_mut().enumerate() {
        let each: Vec<Exposure> =
            members.iter().filter_map(|member| member.about.exposure.get(at).copied()).collect();
        *exposure = Exposure::typical(&each).unwrap_or_default();
    }
    let summary_of = about.summary_of.take();
    about.summary_of = summary_of.and_then(|of| MetricName::new(&family(of.as_str())?.0));
    metric
}

/// The samples of all members of one run. The mean is weighted by their numbers.
fn merged<'a>(members: impl Iterator<Item = &'a Samples>) -> Samples {
    let mut all = Samples { width: Some(1), step: 1, ..Samples::default() };
    let (mut sum, mut count, mut known) = (0.0, 0u64, true);
    for samples in members.filter(|samples| samples.counts.total() > 0 || samples.overflows > 0) {
        let samples_here = samples.counts.total().saturating_add(samples.overflows);
        all.counts.merge(&samples.counts);
        all.width = all.width.zip(samples.width).map(|(one, other)| one.max(other));
        all.step = all.step.max(samples.step);
        all.overflows = all.overflows.saturating_add(samples.overflows);
        all.max = all.max.max(samples.max);
        known &= samples.mean.is_some();
        sum += samples.mean.unwrap_or(0.0) * samples_here as f64;
        count = count.saturating_add(samples_here);
    }
    all.mean = (known && count > 0).then(|| sum / count as f64);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_threads_cpus_and_jobs_have_a_family() {
        let of = |name: &str| family(name).map(|(all, member)| format!("{all} {member}"));
        assert_eq!(of("cyclictest/T12/latency").as_deref(), Some("cyclictest/T*/latency T12"));
        assert_eq!(of("turbostat/cpu3/C6%").as_deref(), Some("turbostat/cpu*/C6% cpu3"));
        assert_eq!(of("perf/S0-D0-C1/cs").as_deref(), Some("perf/*/cs S0-D0-C1"));
        assert_eq!(of("fio/job#2/read/iops").as_deref(), Some("fio/job*/read/iops job#2"));
        for single in
            ["turbostat/C6", "hackbench/time", "qperf/tcp_lat/latency", "perf/cpu0", "stress-ng/cpu/bogo-ops"]
        {
            assert_eq!(of(single), None, "{single}");
        }
    }
}
