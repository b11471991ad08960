// SPDX-License-Identifier: GPL-2.0-only
//! Runs as metrics to compare: a value or a distribution of each run.

use crate::lookup::figure_of;
use crate::store::Run;
use dyntick_stats::{Better, Exposure, Metric, MetricName, Values};
use dyntick_study::figure::{Figure, table};
use std::collections::{BTreeMap, BTreeSet};

/// A figure that is compared even if it is not named.
struct Usual {
    figure: &'static Figure,
    key: &'static str,
    better: Better,
}

static USUAL: [Usual; 6] = [
    Usual { figure: &table::TICKS_PER_S, key: "", better: Better::Lower },
    Usual { figure: &table::INTERRUPTIONS, key: "", better: Better::Lower },
    Usual { figure: &table::INTERRUPTED_NS, key: "", better: Better::Lower },
    Usual { figure: &table::CONTEXT_SWITCHES, key: "", better: Better::Unknown },
    Usual { figure: &table::SCRIPT_S, key: "", better: Better::Lower },
    Usual { figure: &table::POWER, key: "total", better: Better::Lower },
];

impl Usual {
    fn name(&self) -> String {
        if self.key.is_empty() {
            self.figure.name.to_owned()
        } else {
            format!("{}:{}", self.figure.name, self.key)
        }
    }
}

/// The metrics of some runs.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Each metric, with the values of all runs.
    pub by_name: BTreeMap<MetricName, Metric>,
    /// The metrics that are one value in some runs and a distribution in others; they keep the kind of the first run.
    pub mixed: BTreeSet<MetricName>,
}

impl Metrics {
    /// Adds the metrics of a run: the usual figures, the `wanted` ones, and the output of its tools. `by_case` puts
    /// the case's id before each name, for runs of several cases.
    pub fn add_run(&mut self, run: &Run, wanted: &[String], by_case: bool) {
        let case = if by_case { format!("{}: ", run.plan.case.id) } else { String::new() };
        for (name, metric) in of_run(run, wanted) {
            if let Some(name) = MetricName::new(&format!("{case}{name}")) {
                self.add(name, metric);
            }
        }
    }

    /// Adds the values of a metric to those of the runs before.
    pub fn add(&mut self, name: MetricName, metric: Metric) {
        let Some(known) = self.by_name.get_mut(&name) else {
            self.by_name.insert(name, metric);
            return;
        };
        let before = runs(&known.values);
        match (&mut known.values, metric.values) {
            (Values::Runs(values), Values::Runs(more)) => values.extend(more),
            (Values::Distribution(values), Values::Distribution(more)) => values.extend(more),
            _ => {
                self.mixed.insert(name);
                return;
            }
        }
        // Exposures stay with their runs, also if only some runs state one.
        let (about, more) = (&mut known.about, metric.about);
        if !(about.exposure.is_empty() && more.exposure.is_empty()) {
            about.exposure.resize(before, Exposure::default());
            about.exposure.extend(more.exposure);
            about.exposure.resize(runs(&known.values), Exposure::default());
        }
        about.step = about.step.max(more.step);
        about.grows |= more.grows;
    }
}

/// The number of runs.
fn runs(values: &Values) -> usize {
    match values {
        Values::Runs(values) => values.len(),
        Values::Distribution(runs) => runs.len(),
    }
}

fn of_run(run: &Run, wanted: &[String]) -> Vec<(String, Metric)> {
    let clock = run.plan.case.clock;
    let metric = |unit: &str, better, values| Metric::new(unit, better, clock, values);
    let value = |figure: &str, unit: &str, better| {
        run.analysis.observations.named(figure).next()?;
        let value = figure_of(run, figure, None)?;
        Some((figure.to_owned(), metric(unit, better, Values::Runs(vec![value]))))
    };
    let mut metrics = Vec::new();
    for usual in &USUAL {
        metrics.extend(value(&usual.name(), usual.figure.unit.unwrap_or("1"), usual.better));
    }
    for figure in wanted.iter().filter(|figure| USUAL.iter().all(|usual| usual.name() != **figure)) {
        metrics.extend(value(figure, unit_of(run, figure), Better::Unknown));
    }
    for row in run.analysis.observations.iter().filter(|row| row.figure == table::QPERF.name) {
        let better = if row.unit == "B/s" { Better::Higher } else { Better::Lower };
        let values = Values::Runs(vec![row.value]);
        metrics.push((format!("{}:{}", row.figure, row.key), metric(&row.unit, better, values)));
    }
    if let Some(samples) = run.analysis.latency.as_ref().and_then(|latency| latency.samples()) {
        let values = Values::Distribution(vec![samples]);
        metrics.push(("wake-up latency".to_owned(), metric("ns", Better::Lower, values)));
    }
    let printed = run.analysis.printed.metrics.iter();
    metrics.extend(printed.map(|(name, metric)| (name.to_string(), metric.clone())));
    metrics
}

/// The unit of a figure in this run; empty if the run does not have it.
pub(crate) fn unit_of<'r>(run: &'r Run, figure: &str) -> &'r str {
    run.analysis.observations.named(figure).next().map_or("", |row| row.unit.as_str())
}
