// SPDX-License-Identifier: GPL-2.0-only
//! Runs as metrics to compare: what they are about, a value or a distribution of each run.

use crate::lookup::figure_of;
use crate::store::Run;
use dyntick_stats::{Better, Metric, MetricName, Values};
use dyntick_study::figure::table::QPERF;
use std::collections::BTreeMap;

/// The figures that are compared where none is named, with the unit and the direction that is better.
const USUAL: [(&str, &str, Better); 6] = [
    ("ticks_per_s", "1/s", Better::Lower),
    ("interruptions", "1", Better::Lower),
    ("interrupted_ns", "ns", Better::Lower),
    ("context_switches", "1", Better::Unknown),
    ("script_s", "s", Better::Lower),
    ("power:total", "W", Better::Lower),
];

/// Metrics by name.
pub type Metrics = BTreeMap<MetricName, Metric>;

/// Adds what a run measured. `wanted` may name further figures. `by_case` puts the case's id before each
/// name, for runs of many cases.
pub fn add_run(metrics: &mut Metrics, run: &Run, wanted: &[String], by_case: bool) {
    let case = if by_case { format!("{}: ", run.plan.case.id) } else { String::new() };
    for (name, metric) in of_run(run, wanted) {
        if let Some(name) = MetricName::new(&format!("{case}{name}")) {
            add(metrics, name, metric);
        }
    }
}

/// Adds the values of a metric to those of the runs before.
pub fn add(metrics: &mut Metrics, name: MetricName, metric: Metric) {
    let Some(there) = metrics.get_mut(&name) else {
        metrics.insert(name, metric);
        return;
    };
    match (&mut there.values, metric.values) {
        (Values::Runs(runs), Values::Runs(more)) => runs.extend(more),
        (Values::Distribution(runs), Values::Distribution(more)) => runs.extend(more),
        // One of them has it another way; what is there stays.
        _ => {}
    }
}

fn of_run(run: &Run, wanted: &[String]) -> Vec<(String, Metric)> {
    let clock = run.plan.case.clock;
    let metric = |unit: &str, better, values| Metric { unit: unit.to_owned(), better, clock, values };
    let value = |figure: &str, unit: &str, better| {
        let value = figure_of(run, figure, None)?;
        Some((figure.to_owned(), metric(unit, better, Values::Runs(vec![value]))))
    };
    let known = |figure: &str| run.observations.named(figure).next().is_some();
    let usual = USUAL.iter().filter(|(figure, ..)| known(figure));
    let mut metrics: Vec<(String, Metric)> =
        usual.filter_map(|(figure, unit, better)| value(figure, unit, *better)).collect();
    let unusual =
        wanted.iter().filter(|figure| known(figure) && USUAL.iter().all(|usual| usual.0 != **figure));
    metrics.extend(unusual.filter_map(|figure| value(figure, unit_of(run, figure), Better::Unknown)));
    metrics.extend(run.observations.iter().filter(|row| row.figure == QPERF.name).map(|row| {
        let better = if row.unit == "B/s" { Better::Higher } else { Better::Lower };
        (format!("{}:{}", row.figure, row.key), metric(&row.unit, better, Values::Runs(vec![row.value])))
    }));
    metrics.extend(run.latency.iter().filter_map(|latency| {
        let values = Values::Distribution(vec![latency.samples()?]);
        Some(("wake-up latency".to_owned(), metric("ns", Better::Lower, values)))
    }));
    let printed = run.printed.metrics.iter();
    metrics.extend(printed.map(|(name, metric)| (name.to_string(), metric.clone())));
    metrics
}

/// The unit of a figure, as the run has it; empty where it has none.
pub(crate) fn unit_of<'r>(run: &'r Run, figure: &str) -> &'r str {
    run.observations.named(figure).next().map_or("", |row| row.unit.as_str())
}
