// SPDX-License-Identifier: GPL-2.0-only
//! A collector of metrics that enforces limits.

use super::{Hints, Output};
use crate::Error;
use crate::cyclictest::Unit;
use crate::text::shortened;
use dyntick_model::Clock;
use dyntick_stats::{About, Better, Exposure, Metric, MetricName, Samples, Values};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The largest number of metrics in one file.
pub const MAX_METRICS: usize = 10_000;

/// A unit, the better direction, and what else a verdict depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind<'a> {
    /// The unit, as in [`Metric::unit`].
    pub unit: &'a str,
    /// The direction, as in [`Metric::better`].
    pub better: Better,
    /// True if the figure grows with the time that was watched.
    pub grows: bool,
    /// The step of the last digit, if further digits were cut off; else 0.
    pub step: f64,
}

impl<'a> Kind<'a> {
    /// A latency or a duration, in ns.
    pub const TIME: Kind<'static> = Kind::new("ns", Better::Lower);
    /// The work done per second.
    pub const RATE: Kind<'static> = Kind::new("1/s", Better::Higher);
    /// The bytes moved per second.
    pub const BANDWIDTH: Kind<'static> = Kind::new("B/s", Better::Higher);
    /// The number of unwanted events.
    pub const UNWANTED: Kind<'static> = Kind::new("", Better::Lower);
    /// A power.
    pub const POWER: Kind<'static> = Kind::new("W", Better::Lower);
    /// A share without a known better direction.
    pub const SHARE: Kind<'static> = Kind::new("%", Better::Unknown);

    /// A figure that does not depend on the time that was watched.
    pub const fn new(unit: &'a str, better: Better) -> Self {
        Self { unit, better, grows: false, step: 0.0 }
    }

    /// The same of a figure that grows with the time that was watched: a maximum, a count, a sum.
    pub const fn growing(self) -> Self {
        Self { grows: true, ..self }
    }

    /// The same of a figure whose digits below this step were cut off.
    pub const fn cut_to(self, step: f64) -> Self {
        Self { step, ..self }
    }

    /// The kind of a time by its word: a maximum grows.
    pub fn of_time(word: &str) -> Self {
        if word.starts_with("max") { Kind::TIME.growing() } else { Kind::TIME }
    }
}

/// The metrics of one file.
#[derive(Debug)]
pub struct Collector {
    tool: &'static str,
    clock: Clock,
    metrics: Vec<(MetricName, Metric)>,
    places: HashMap<MetricName, usize>,
    exposure: Exposure,
    settings: BTreeMap<&'static str, BTreeSet<String>>,
    notes: Vec<String>,
    parts: Vec<String>,
    unit: Option<Unit>,
    file: Option<String>,
}

/// The largest number of notes and of settings of a file.
const MAX_NOTES: usize = 20;

impl Collector {
    /// Makes a collector for a file of this tool.
    pub fn new(tool: &'static str, clock: Clock) -> Self {
        Self {
            tool,
            clock,
            metrics: Vec::new(),
            places: HashMap::new(),
            exposure: Exposure::default(),
            settings: BTreeMap::new(),
            notes: Vec::new(),
            parts: Vec::new(),
            unit: None,
            file: None,
        }
    }

    /// The same with what the output does not state.
    pub fn with(self, hints: Hints<'_>) -> Self {
        Self { unit: hints.unit, file: hints.file.map(str::to_owned), ..self }
    }

    /// The name of the file, if it is known.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Begins a benchmark, whose metrics have names that begin with this and a slash.
    pub fn part(&mut self, part: &str) {
        if self.parts.len() < MAX_METRICS && !self.parts.iter().any(|known| known == part) {
            self.parts.push(part.to_owned());
        }
    }

    /// The unit of latencies of which a file does not state it, if the user does.
    pub fn unit(&self) -> Option<Unit> {
        self.unit
    }

    /// Sets the exposure of the values that follow.
    pub fn watched(&mut self, exposure: Exposure) {
        self.exposure = exposure;
    }

    /// Adds a setting that the file states.
    pub fn setting(&mut self, name: &'static str, value: &str) {
        let values = self.settings.entry(name).or_default();
        if values.len() < MAX_NOTES {
            values.insert(shortened(value));
        }
    }

    /// Adds a note on what was assumed or not used.
    pub fn note(&mut self, note: impl std::fmt::Display) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(shortened(&note.to_string()));
        }
    }

    /// Adds a note on lines that are not the tool's, if there are any.
    pub fn skipped(&mut self, lines: usize) {
        if lines > 0 {
            let lines =
                if lines == 1 { "1 line that is".to_owned() } else { format!("{lines} lines that are") };
            let tool = self.tool;
            self.note(format_args!("{lines} not {tool}'s skipped"));
        }
    }

    /// Adds a value that is a figure of the same samples as a distribution.
    pub fn summary(&mut self, name: &str, kind: Kind, value: f64, of: &str) -> Result<(), Error> {
        self.value(name, kind, value)?;
        let place = MetricName::new(name).and_then(|name| self.places.get(&name).copied());
        if let Some(place) = place {
            self.metrics[place].1.about.summary_of = MetricName::new(of);
        }
        Ok(())
    }

    /// Adds a value. If the name has one already, the file contains several runs and this is the next.
    pub fn value(&mut self, name: &str, kind: Kind, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            return Err(self.bad_name(name, "is not a finite number"));
        }
        let place = self.place(name, kind, Values::Runs(Vec::new()))?;
        match &mut self.metrics[place].1.values {
            Values::Runs(values) => values.push(value),
            Values::Distribution(_) => return Err(self.bad_name(name, "is a value and a distribution")),
        }
        self.metrics[place].1.about.exposure.push(self.exposure);
        Ok(())
    }

    /// Adds the samples of a run, if there are any.
    pub fn samples(&mut self, name: &str, kind: Kind, samples: Samples) -> Result<(), Error> {
        if samples.counts.total() == 0 && samples.overflows == 0 {
            return Ok(());
        }
        let place = self.place(name, kind, Values::Distribution(Vec::new()))?;
        match &mut self.metrics[place].1.values {
            Values::Distribution(runs) => runs.push(samples),
            Values::Runs(_) => return Err(self.bad_name(name, "is a distribution and a value")),
        }
        self.metrics[place].1.about.exposure.push(self.exposure);
        Ok(())
    }

    /// Returns all that was added; fails if there are no metrics.
    pub fn finish(mut self) -> Result<Output, Error> {
        if self.metrics.is_empty() {
            return Err(Error::Nothing { tool: self.tool });
        }
        for (_, metric) in &mut self.metrics {
            let exposure = &mut metric.about.exposure;
            if exposure.iter().all(|exposure| *exposure == Exposure::default()) {
                exposure.clear();
            }
        }
        let Self { tool, metrics, settings, notes, parts, .. } = self;
        Ok(Output { tool, metrics, settings, notes, parts })
    }

    fn place(&mut self, name: &str, kind: Kind, values: Values) -> Result<usize, Error> {
        let known = MetricName::new(name).ok_or_else(|| self.bad_name(name, NAMES))?;
        if let Some(place) = self.places.get(&known) {
            let same = self.metrics[*place].1.unit == kind.unit;
            return if same { Ok(*place) } else { Err(self.bad_name(name, "has two units")) };
        }
        if kind.unit.len() > LONGEST_UNIT || kind.unit.contains(char::is_control) {
            return Err(self.bad_name(name, "has an invalid unit"));
        }
        if self.metrics.len() >= MAX_METRICS {
            return Err(Error::Many { tool: self.tool, limit: MAX_METRICS, fix: fewer(self.tool) });
        }
        let about = About { grows: kind.grows, step: kind.step, ..About::default() };
        self.places.insert(known.clone(), self.metrics.len());
        self.metrics
            .push((known, Metric { about, ..Metric::new(kind.unit, kind.better, self.clock, values) }));
        Ok(self.metrics.len() - 1)
    }

    fn bad_name(&self, name: &str, why: &'static str) -> Error {
        Error::Name { tool: self.tool, name: shortened(name), why }
    }
}

/// The way to have a tool report less.
fn fewer(tool: &str) -> &'static str {
    match tool {
        "fio" => "run fio with --group_reporting",
        "perf stat" => "run perf stat without -A",
        "turbostat" => "run turbostat with --Summary, or with --cpu for some CPUs",
        _ => "split the file",
    }
}

/// The longest unit in bytes: some tools' files name their own units.
const LONGEST_UNIT: usize = 32;

const NAMES: &str = "is longer than 200 bytes or has control characters: give the job or command a short \
    name (hyperfine --command-name, fio --name)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_enforced() {
        let mut collector = Collector::new("fio", Clock::Wall);
        for number in 0..MAX_METRICS {
            collector.value(&format!("fio/{number}"), Kind::RATE, 1.0).unwrap();
        }
        assert!(matches!(collector.value("fio/one more", Kind::RATE, 1.0), Err(Error::Many { .. })));
        collector.value("fio/0", Kind::RATE, 2.0).unwrap();
        assert!(collector.value("fio/0", Kind::TIME, 2.0).is_err());
        assert_eq!(collector.finish().unwrap().metrics[0].1.values, Values::Runs(vec![1.0, 2.0]));
    }

    #[test]
    fn conditions_stay_with_their_values() {
        let mut collector = Collector::new("x", Clock::Wall);
        let exposure = Exposure { samples: Some(7), ..Exposure::default() };
        collector.watched(exposure);
        collector.value("x/max", Kind::of_time("max").cut_to(1000.0), 1.0).unwrap();
        collector.watched(Exposure::default());
        collector.summary("x/avg", Kind::TIME, 1.0, "x/latency").unwrap();
        collector.skipped(1);
        let output = collector.finish().unwrap();
        let about = |at: usize| &output.metrics[at].1.about;
        assert_eq!((about(0).grows, about(0).step, &about(0).exposure[..]), (true, 1000.0, &[exposure][..]));
        assert_eq!((about(1).grows, about(1).summary_of.clone()), (false, MetricName::new("x/latency")));
        assert!(about(1).exposure.is_empty());
        assert_eq!(output.notes, ["1 line that is not x's skipped"]);
    }

    #[test]
    fn invalid_names_and_numbers_are_refused() {
        let mut collector = Collector::new("fio", Clock::Wall);
        for name in ["a\u{1b}[2J", "", &"x".repeat(201)] {
            assert!(matches!(collector.value(name, Kind::TIME, 1.0), Err(Error::Name { .. })), "{name:?}");
        }
        assert!(collector.value("a", Kind::TIME, f64::INFINITY).is_err());
        for unit in ["\u{7}", &"x".repeat(LONGEST_UNIT + 1)] {
            assert!(collector.value("a", Kind::new(unit, Better::Lower), 1.0).is_err());
        }
        collector.samples("a", Kind::TIME, Samples::default()).unwrap();
        assert_eq!(collector.finish(), Err(Error::Nothing { tool: "fio" }));
    }
}
