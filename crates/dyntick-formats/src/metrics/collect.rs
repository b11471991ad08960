// SPDX-License-Identifier: GPL-2.0-only
//! A collector of metrics that enforces limits.

use crate::Error;
use crate::text::shortened;
use dyntick_model::Clock;
use dyntick_stats::{Better, Metric, MetricName, Samples, Values};
use std::collections::HashMap;

/// The largest number of metrics in one file.
pub const MAX_METRICS: usize = 10_000;

/// A unit, and the better direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind<'a> {
    /// The unit, as in [`Metric::unit`].
    pub unit: &'a str,
    /// The direction, as in [`Metric::better`].
    pub better: Better,
}

impl Kind<'_> {
    /// A latency or a duration, in ns.
    pub const TIME: Kind<'static> = Kind { unit: "ns", better: Better::Lower };
    /// The work done per second.
    pub const RATE: Kind<'static> = Kind { unit: "1/s", better: Better::Higher };
    /// The bytes moved per second.
    pub const BANDWIDTH: Kind<'static> = Kind { unit: "B/s", better: Better::Higher };
    /// The number of unwanted events.
    pub const UNWANTED: Kind<'static> = Kind { unit: "", better: Better::Lower };
    /// A power.
    pub const POWER: Kind<'static> = Kind { unit: "W", better: Better::Lower };
    /// A share without a known better direction.
    pub const SHARE: Kind<'static> = Kind { unit: "%", better: Better::Unknown };
}

/// The metrics of one file.
#[derive(Debug)]
pub struct Collector {
    tool: &'static str,
    clock: Clock,
    metrics: Vec<(MetricName, Metric)>,
    places: HashMap<MetricName, usize>,
}

impl Collector {
    /// Makes a collector for a file of this tool.
    pub fn new(tool: &'static str, clock: Clock) -> Self {
        Self { tool, clock, metrics: Vec::new(), places: HashMap::new() }
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
        Ok(())
    }

    /// Returns all metrics; fails if there are none.
    pub fn finish(self) -> Result<Vec<(MetricName, Metric)>, Error> {
        if self.metrics.is_empty() { Err(Error::Nothing { tool: self.tool }) } else { Ok(self.metrics) }
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
            return Err(Error::Many { tool: self.tool, limit: MAX_METRICS });
        }
        let (unit, better, clock) = (kind.unit.to_owned(), kind.better, self.clock);
        self.places.insert(known.clone(), self.metrics.len());
        self.metrics.push((known, Metric { unit, better, clock, values }));
        Ok(self.metrics.len() - 1)
    }

    fn bad_name(&self, name: &str, why: &'static str) -> Error {
        Error::Name { tool: self.tool, name: shortened(name), why }
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
        assert_eq!(collector.finish().unwrap()[0].1.values, Values::Runs(vec![1.0, 2.0]));
    }

    #[test]
    fn invalid_names_and_numbers_are_refused() {
        let mut collector = Collector::new("fio", Clock::Wall);
        for name in ["a\u{1b}[2J", "", &"x".repeat(201)] {
            assert!(matches!(collector.value(name, Kind::TIME, 1.0), Err(Error::Name { .. })), "{name:?}");
        }
        assert!(collector.value("a", Kind::TIME, f64::INFINITY).is_err());
        for unit in ["\u{7}", &"x".repeat(LONGEST_UNIT + 1)] {
            assert!(collector.value("a", Kind { unit, ..Kind::TIME }, 1.0).is_err());
        }
        collector.samples("a", Kind::TIME, Samples::default()).unwrap();
        assert_eq!(collector.finish(), Err(Error::Nothing { tool: "fio" }));
    }
}
