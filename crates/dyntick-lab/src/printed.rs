// SPDX-License-Identifier: GPL-2.0-only
//! The output of a case's programs, if it is that of a known tool: fio, stress-ng, hackbench and others
//! ([`dyntick_formats::tools`]). cyclictest and qperf have figures of their own.

use dyntick_formats::{Error, Observation, metrics, picked};
use dyntick_guest::{Work, pieces};
use dyntick_model::Clock;
use dyntick_stats::{Grouped, Metric, MetricName, POINTS, Summary, Values};
use dyntick_study::figure::table;
use dyntick_study::{Case, Pick};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tools whose output is read elsewhere.
const OWN_FIGURES: [&str; 2] = ["cyclictest", "qperf"];

/// The metrics of a run's tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Printed {
    /// The metrics by name; if two programs print the same name, with the number of the task before it.
    pub metrics: BTreeMap<MetricName, Metric>,
    /// The outputs that cannot be read.
    pub notes: Vec<String>,
}

impl Printed {
    /// Reads the output of the script and the tasks of a case; `output` reads a piece of the guest's archive.
    pub fn of(case: &Case, output: &dyn Fn(&str) -> Option<String>) -> Self {
        let script = case.script.as_ref().and_then(|_| {
            let parts =
                [pieces::SCRIPT_OUT, pieces::SCRIPT_ERR].map(|piece| output(piece).unwrap_or_default());
            Some(("script".to_owned(), parts.concat())).filter(|(_, text)| !text.is_empty())
        });
        let is_tool = |work: &Work| matches!(work, Work::Tool(_));
        let tools = case.tasks.iter().enumerate().filter(|(_, task)| is_tool(&task.work));
        let tasks = tools.filter_map(|(number, _)| {
            Some((format!("task {number}"), output(&pieces::output_of_task(number))?))
        });
        let texts: Vec<(String, String)> = script.into_iter().chain(tasks).collect();
        let mut printed = Self::default();
        let searched = within(&texts, picked::MAX_BYTES);
        for (name, pick) in &case.figures {
            match of_pick(pick, &searched, case.clock) {
                Ok(metric) => printed.metrics.extend(MetricName::new(name).map(|name| (name, metric))),
                Err(error) => printed.notes.push(format!("figure {name}: {error}")),
            }
        }
        for (who, text) in texts {
            match metrics(text.as_bytes(), case.clock) {
                Ok(read) if OWN_FIGURES.contains(&read.tool) => {}
                Ok(read) => printed.add(&who, read.metrics),
                // Most programs print something else.
                Err(Error::Unknown { .. }) => {}
                Err(error) => printed.notes.push(format!("{who}: {error}")),
            }
        }
        printed
    }

    fn add(&mut self, who: &str, metrics: Vec<(MetricName, Metric)>) {
        for (name, metric) in metrics {
            let taken = self.metrics.contains_key(&name);
            let name = if taken { MetricName::new(&format!("{who}/{name}")) } else { Some(name) };
            self.metrics.extend(name.map(|name| (name, metric)));
        }
    }

    /// The metrics as figures: a metric's value, or the median of several; for a distribution its points.
    pub fn observations(&self) -> Vec<Observation> {
        self.metrics.iter().flat_map(|(name, metric)| of_metric(name, metric)).collect()
    }
}

/// The texts whose bytes together are within the limit: an untrusted pattern may take long for each.
fn within(texts: &[(String, String)], mut left: usize) -> Vec<&(String, String)> {
    let fits = |(_, text): &&(String, String)| {
        let fits = text.len() <= left;
        left -= if fits { text.len() } else { 0 };
        fits
    };
    texts.iter().filter(fits).collect()
}

/// The figure in the first of these texts that has it.
fn of_pick(pick: &Pick, texts: &[&(String, String)], clock: Clock) -> Result<Metric, String> {
    let picker = pick.picker().map_err(|error| error.to_string())?;
    let mut why = "no program of the case printed anything that is short enough to be searched".to_owned();
    for (who, text) in texts {
        match picker.metric(text, &pick.unit, pick.better, clock) {
            Ok(metric) => return Ok(metric),
            Err(error) => why = format!("{who}: {error}"),
        }
    }
    Err(why)
}

fn of_metric(name: &MetricName, metric: &Metric) -> Vec<Observation> {
    let row = |key: String, value: f64| Observation {
        cpu: None,
        figure: table::TOOL.name.to_owned(),
        key,
        value,
        unit: metric.unit.clone(),
    };
    match &metric.values {
        Values::Runs(values) => {
            Summary::of(values).map(|summary| row(name.to_string(), summary.median)).into_iter().collect()
        }
        Values::Distribution(samples) => {
            let all = Grouped::of(samples);
            let value = |point| Some(row(format!("{name}/{point}"), all.value(point)?));
            POINTS.into_iter().filter_map(value).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_guest::{Policy, Script, Task};
    use dyntick_stats::Better;
    use dyntick_study::Place;

    fn case() -> Case {
        let tool = |name: &str| Task {
            cpus: Default::default(),
            policy: Policy::Other,
            partition: None,
            to_its_end: true,
            work: Work::Tool(vec![name.to_owned()]),
        };
        let script = Script { cpus: Default::default(), run: vec!["hackbench".into()], in_window: true };
        let tasks = vec![tool("hackbench"), tool("true"), tool("perf")];
        Case { tasks, script: Some(script), ..Case::new("a", "debian:6.12") }
    }

    #[test]
    fn a_figure_of_its_own_is_found_in_what_any_program_printed() {
        let pick = |place| Pick { place, unit: "1/s".to_owned(), better: Better::Higher };
        let figures = [
            ("tps", pick(Place::Pattern("tps = ([0-9.]+)".to_owned()))),
            ("iops", pick(Place::Json("jobs.*.iops".to_owned()))),
            ("none", pick(Place::Pattern("none ([0-9]+)".to_owned()))),
        ];
        let case = Case { figures: figures.map(|(name, pick)| (name.to_owned(), pick)).into(), ..case() };
        let output = |piece: &str| match piece {
            pieces::SCRIPT_OUT => Some("scale 1\ntps = 812.5 (all)\n".to_owned()),
            "task-1.out" => Some("{\"jobs\": [{\"iops\": 3}, {\"iops\": 5}]}".to_owned()),
            _ => None,
        };
        let printed = Printed::of(&case, &output);
        let rows: Vec<(String, f64)> =
            printed.observations().into_iter().map(|row| (row.key, row.value)).collect();
        assert_eq!(rows, [("iops".to_owned(), 4.0), ("tps".to_owned(), 812.5)], "the median of several");
        assert!(printed.notes.iter().any(|note| note.starts_with("figure none: ")), "{:?}", printed.notes);
    }

    #[test]
    fn each_program_by_what_it_printed() {
        let output = |piece: &str| match piece {
            pieces::SCRIPT_OUT => Some("Time: 0.25\n".to_owned()),
            "task-0.out" => Some("Time: 0.5\n".to_owned()),
            "task-1.out" => Some("hello\n".to_owned()),
            "task-2.out" => Some(" Performance counter stats for 'true':\n".to_owned()),
            _ => None,
        };
        let printed = Printed::of(&case(), &output);
        let rows: Vec<(String, f64)> =
            printed.observations().into_iter().map(|row| (row.key, row.value)).collect();
        assert_eq!(rows, [("hackbench/time".to_owned(), 2.5e8), ("task 0/hackbench/time".to_owned(), 5e8)]);
        assert_eq!(printed.notes.len(), 1);
        assert!(printed.notes[0].starts_with("task 2: this is perf stat's"), "{:?}", printed.notes);
    }
}
