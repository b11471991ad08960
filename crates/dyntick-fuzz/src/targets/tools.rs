// SPDX-License-Identifier: GPL-2.0-only
//! The output of measuring tools.

use dyntick_formats::picked::{MAX_VALUES, Picker};
use dyntick_formats::{Hints, MAX_METRICS, metrics_of_file};
use dyntick_model::Clock;
use dyntick_stats::{MetricName, Values};

/// Reads the output of an unknown tool, then its first line as a path and as a pattern for the rest of it.
pub fn other_tools(bytes: &[u8]) {
    // Only the name says what a log of fio has.
    let hints = Hints { file: Some("a_lat.1.log"), ..Hints::default() };
    if let Ok(output) = metrics_of_file(bytes, Clock::Wall, hints) {
        assert!(!output.metrics.is_empty() && output.metrics.len() <= MAX_METRICS);
        for (name, metric) in &output.metrics {
            assert!(MetricName::new(name.as_str()).is_some());
            match &metric.values {
                Values::Runs(values) => assert!(values.iter().all(|value| value.is_finite())),
                Values::Distribution(runs) => runs.iter().for_each(|run| _ = run.counts.quantile(0.99)),
            }
        }
    }
    let text = String::from_utf8_lossy(bytes);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    for picker in [Picker::json(first), Picker::pattern(first)].into_iter().flatten() {
        if let Ok(values) = picker.values(rest) {
            assert!((1..=MAX_VALUES).contains(&values.len()) && values.iter().all(|value| value.is_finite()));
        }
    }
}
