// SPDX-License-Identifier: GPL-2.0-only
//! Single figures of runs, and whether they prove anything (invariant 11).

use crate::error::LabError;
use crate::lab::CaseResult;
use crate::observations::Observations;
use crate::store::Run;
use dyntick_formats::Observation;
use dyntick_model::CpuList;
use dyntick_model::text::known_words;
use dyntick_study::Case;
use dyntick_study::claims::Figures;
use dyntick_study::figure::{Absent, Figure, OfCpus, Source, table};
use std::collections::{BTreeMap, BTreeSet};

/// The runs of a study as figures for its claims.
pub struct RunFigures<'a>(pub &'a [CaseResult]);

impl Figures for RunFigures<'_> {
    fn get(&self, case: &Case, figure: &str, cpu: Option<u32>) -> Option<Vec<f64>> {
        self.of_case(case).map(|result| figure_of(result.run.as_ref().ok()?, figure, cpu)).collect()
    }

    fn absence(&self, case: &Case, figure: &str) -> String {
        let ran: Vec<&CaseResult> =
            self.of_case(case).filter(|result| !matches!(result.run, Err(LabError::NotRun))).collect();
        let runs: Result<Vec<&Run>, &LabError> = ran.iter().map(|result| result.run.as_ref()).collect();
        match runs {
            Ok(runs) => match runs.first() {
                Some(run) => {
                    format!("{} has no such figure{}", case.id, instead(&run.analysis.observations, figure))
                }
                None => format!("{} was not run", case.id),
            },
            Err(_) => format!("{} has no complete run", case.id),
        }
    }

    fn doubt(&self, case: &Case, figure: &str, cpu: Option<u32>) -> Option<String> {
        self.of_case(case).find_map(|result| doubt(result.run.as_ref().ok()?, figure, cpu))
    }

    fn perturbed(&self, case: &Case, figure: &str, cpu: Option<u32>) -> BTreeMap<u32, Option<f64>> {
        let perturbed = self.0.iter().filter(|result| result.case.id == case.id && result.is_perturbed());
        let value = |result: &CaseResult| {
            let run = result.run.as_ref().ok().filter(|run| doubt(run, figure, cpu).is_none())?;
            figure_of(run, figure, cpu)
        };
        perturbed.map(|result| (result.repetition, value(result))).collect()
    }
}

impl RunFigures<'_> {
    /// The case's own runs.
    fn of_case<'f>(&'f self, case: &'f Case) -> impl Iterator<Item = &'f CaseResult> {
        self.0.iter().filter(|result| result.case.id == case.id && !result.is_perturbed())
    }
}

/// The figures of this name that a run has; in words, with what to do if it has none.
fn instead(observations: &Observations, figure: &str) -> String {
    let (name, key) = figure.split_once(':').unwrap_or((figure, ""));
    let of_name = observations.iter().filter(|row| row.figure == name && !row.key.is_empty());
    let keys: BTreeSet<&str> = of_name.map(|row| row.key.as_str()).collect();
    let keys: Vec<&str> = keys.into_iter().collect();
    if keys.is_empty() {
        return match Figure::named(name).map(|figure| figure.source) {
            Some(Source::Tool) => {
                "; no program of it printed any in a form that is read: see what it printed in its run's folder".to_owned()
            }
            _ => String::new(),
        };
    }
    format!("; of {name}: it has {}", known_words(key, &keys, "`dyntick lab report --json`"))
}

/// The largest share of the window that the host may take from a CPU before figures of it prove nothing.
const MOST_STOLEN: f64 = 0.01;

/// The reason for which a figure of this run may be wrong: the host took too much time from the CPU, or lost trace
/// events would have counted.
fn doubt(run: &Run, figure: &str, cpu: Option<u32>) -> Option<String> {
    let one = cpu.map(|cpu| CpuList::from_iter([cpu]));
    let cpus = one.as_ref().unwrap_or(&run.plan.case.measured_cpus);
    taken(&run.analysis.observations, run.analysis.outcome.window_ns, cpus).or_else(|| lost(run, figure, cpu))
}

/// The reason for which no figure of this run's measured CPUs proves anything: the host took too much time from one of
/// them.
pub fn taken_by_host(run: &Run) -> Option<String> {
    taken(&run.analysis.observations, run.analysis.outcome.window_ns, &run.plan.case.measured_cpus)
}

/// The CPU from which the host took most, where that is too much.
fn taken(observations: &Observations, (begin, end): (u64, u64), cpus: &CpuList) -> Option<String> {
    let share = |row: &Observation| Some((row.cpu?, row.value / (end - begin).max(1) as f64));
    let stolen = observations.named(table::STOLEN_NS.name).filter_map(share);
    let of_cpus = stolen.filter(|(cpu, share)| cpus.contains(*cpu) && *share > MOST_STOLEN);
    let (cpu, share) = of_cpus.max_by(|a, b| a.1.total_cmp(&b.1))?;
    // It is counted from before the window to after it.
    let percent = share.min(1.0) * 100.0;
    Some(format!(
        "steal: the host ran something else for up to {percent:.1} % of the window while CPU {cpu} of the guest was runnable"
    ))
}

fn lost(run: &Run, figure: &str, cpu: Option<u32>) -> Option<String> {
    if !Figure::named(figure).is_some_and(Figure::is_of_trace) {
        return None;
    }
    let concerned =
        |lost_on: u32| cpu.map_or(run.plan.case.measured_cpus.contains(lost_on), |c| c == lost_on);
    let mut lost =
        run.analysis.lost_events.iter().filter(|(lost_on, count)| concerned(**lost_on) && **count > 0);
    let (cpu, count) = lost.next()?;
    Some(format!("{count} trace events of CPU {cpu} were lost; raise `trace-buffer` or shorten `measure`"))
}

/// A figure of one run, `figure` or `figure:key`: on one CPU, or of the measured ones together, as the figure says.
/// None where it was not measured.
pub fn figure_of(run: &Run, figure: &str, cpu: Option<u32>) -> Option<f64> {
    let one = cpu.map(|cpu| CpuList::from_iter([cpu]));
    on_cpus(&run.analysis.observations, one.as_ref().unwrap_or(&run.plan.case.measured_cpus), figure)
}

/// The unit of a figure in this run; empty if the run does not have it.
pub fn unit_of<'r>(run: &'r Run, figure: &str) -> &'r str {
    run.analysis.observations.named(figure).next().map_or("", |row| row.unit.as_str())
}

fn on_cpus(observations: &Observations, cpus: &CpuList, name: &str) -> Option<f64> {
    let figure = Figure::named(name)?;
    let key = name.split_once(':').map_or("", |(_, key)| key);
    let values = |figure: &Figure| -> Vec<f64> {
        let wanted = observations.of(figure.name, key);
        wanted.filter(|row| row.cpu.is_none_or(|cpu| cpus.contains(cpu))).map(|row| row.value).collect()
    };
    let of_each = values(figure);
    match (&of_each[..], figure.of_cpus) {
        ([], _) => (figure.absent == Absent::Zero).then_some(0.0),
        ([only], _) => Some(*only),
        (_, OfCpus::Sum) => Some(of_each.iter().sum()),
        (_, OfCpus::Mean) => Some(of_each.iter().sum::<f64>() / of_each.len() as f64),
        (_, OfCpus::Weighted(by)) => Some(weighted_mean(&of_each, &values(by))),
    }
}

fn weighted_mean(values: &[f64], weights: &[f64]) -> f64 {
    let weighted = values.iter().zip(weights).map(|(value, weight)| value * weight);
    weighted.sum::<f64>() / weights.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{of_profile, of_stolen};
    use crate::profiles::RunProfile;
    use dyntick_profile::{Key, Kind, Phase};

    #[test]
    fn a_cpu_with_more_spans_weighs_more() {
        let mut phase = Phase::default();
        for (cpu, spans) in [(1, vec![100, 200, 900]), (2, vec![500]), (3, vec![7])] {
            let key = Key { cpu, kind: "tick".into() };
            phase.profile.entries.insert(key, Kind { spans, ..Kind::default() });
        }
        let profile = RunProfile {
            case: "c".into(),
            cpus: 4,
            measured_cpus: CpuList::from_iter([1, 2, 3]),
            phases: vec![("window", phase)],
        };
        let rows = Observations::from(of_profile(&profile));
        let on = |cpus: &[u32], figure| on_cpus(&rows, &cpus.iter().copied().collect(), figure);
        assert_eq!(on(&[1], "span:tick"), Some(400.0));
        assert_eq!(on(&[1, 2], "spans:tick"), Some(4.0));
        assert_eq!(on(&[1, 2], "span:tick"), Some(425.0), "1700 instructions in four spans");
        assert_eq!(on(&[1, 2], "span_median:tick"), Some(275.0), "three times 200 and once 500");
        assert_eq!(on(&[1, 2, 4], "span:tick"), Some(425.0));
        assert_eq!(on(&[4], "span:tick"), None);
    }

    #[test]
    fn a_host_that_takes_much_is_named_with_the_cpu() {
        let rows = Observations::from(of_stolen(&[(0, 900), (1, 5), (2, 30)].into()));
        let taken = |cpus: &[u32]| taken(&rows, (1000, 2000), &cpus.iter().copied().collect());
        assert!(taken(&[1, 2]).unwrap().contains("3.0 % of the window while CPU 2"));
        assert_eq!(taken(&[1]), None, "half a percent");
    }

    #[test]
    fn counts_are_added_and_of_shares_the_mean_is_taken() {
        let row = |cpu, figure: &str, value| Observation {
            cpu: Some(cpu),
            figure: figure.into(),
            key: String::new(),
            value,
            unit: "1".into(),
        };
        let rows = Observations::from(vec![
            row(1, "ticks", 3.0),
            row(2, "ticks", 4.0),
            row(1, "unattributed_share", 0.5),
            row(2, "unattributed_share", 1.0),
        ]);
        let on = |figure| on_cpus(&rows, &CpuList::from_iter([1, 2]), figure);
        assert_eq!((on("ticks"), on("unattributed_share")), (Some(7.0), Some(0.75)));
        assert_eq!((on("cause:tick"), on("script_s"), on("event:a:b")), (Some(0.0), None, None));
    }
}
