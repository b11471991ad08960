// SPDX-License-Identifier: GPL-2.0-only
//! The figures of a run: what each is, where it comes from, how CPUs add up. What makes figures, what a study may
//! claim of them and the book's table all go by [`table`].

mod keys;
mod lack;
pub mod table;

pub use keys::QUANTILES;
pub use lack::lack;

use Source::*;
use dyntick_model::text::{known_words, nearest};

/// A figure, or the figures of one name by key: `softirq:RCU`.
#[derive(Debug)]
pub struct Figure {
    /// The name before the key.
    pub name: &'static str,
    /// The key after the name.
    pub key: Key,
    /// The unit, `1` for a count; none where it depends on the key.
    pub unit: Option<&'static str>,
    /// The source of its values.
    pub source: Source,
    /// The value for several CPUs together.
    pub of_cpus: OfCpus,
    /// The meaning of a run without it.
    pub absent: Absent,
    /// The description, for the book.
    pub text: &'static str,
}

/// The key after a figure's name.
#[derive(Debug)]
pub enum Key {
    /// There is no key.
    None,
    /// An optional key of this form.
    Optional(&'static str),
    /// A key.
    Required {
        /// The form, as in the book: `NAME`.
        form: &'static str,
        /// One that there is.
        example: &'static str,
        /// Says what is wrong with one, if anything is.
        refuse: fn(name: &str, key: &str) -> Result<(), String>,
    },
}

/// The source of a figure's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The trace.
    Trace,
    /// The trace, and the idle states of the guest's machine.
    IdleTrace,
    /// A model of the machine, fed by the trace.
    Model,
    /// The kernel's own counters of idle states, in a guest with a machine.
    IdleCounters,
    /// Files of the kernel, read before and after the window.
    Files,
    /// The guest's clocks.
    Clock,
    /// The guest's clocks around the script.
    Script,
    /// The host.
    Host,
    /// The output of a tool.
    Tool,
    /// The instructions that the emulator counted.
    Profile,
}

/// The value of a figure for several CPUs together.
#[derive(Clone, Copy, Debug)]
pub enum OfCpus {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// Their mean, weighted by another figure of the same key: exact for a mean, and for the median of one CPU.
    Weighted(&'static Figure),
}

/// The meaning of a run without a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The event did not happen.
    Zero,
    /// The figure was not measured.
    Unknown,
}

impl Source {
    /// The name of the source, for the book.
    pub fn name(self) -> &'static str {
        match self {
            Trace => "trace",
            IdleTrace => "trace, machine",
            Model => "model",
            IdleCounters => "cpuidle's counters, machine",
            Files => "files",
            Clock => "clock",
            Script => "clock, script",
            Host => "host",
            Tool => "tool",
            Profile => "profile",
        }
    }
}

impl Figure {
    /// The figure of this name, with or without a key.
    pub fn named(figure: &str) -> Option<&'static Figure> {
        let name = figure.split(':').next().unwrap_or(figure);
        table::ALL.iter().copied().find(|one| one.name == name)
    }

    /// Returns true if it is counted from the trace, so that lost events make it wrong.
    pub fn is_of_trace(&self) -> bool {
        matches!(self.source, Trace | IdleTrace | Model)
    }

    /// Returns true if it has one value for the machine, or for the measured CPUs together, and none for one CPU.
    pub fn is_of_machine(&self) -> bool {
        matches!(self.source, Clock | Script | Tool | Model) || self.name == table::WAKEUP.name
    }
}

/// The quantile that a figure of this name and key is, 0 to 1: 0.99 of `latency_ns` with `p99`, `wakeup` with `C6:p99`,
/// or `tool` with `fio/writes/clat/p99`. `None` if it is none.
pub fn quantile(name: &str, key: &str) -> Option<f64> {
    const MEDIAN: f64 = 0.5;
    let point = match Figure::named(name)?.name {
        name if name == table::SPAN_MEDIAN.name => return Some(MEDIAN),
        name if name == table::LATENCY_AT_NS.name => key,
        name if name == table::WAKEUP.name => last(key, ':'),
        name if name == table::TOOL.name => last(key, '/'),
        _ => return None,
    };
    QUANTILES.iter().find(|(known, _)| *known == point).map(|(_, share)| *share)
}

/// The part of a key after the last separator; all of it if there is none.
fn last(key: &str, separator: char) -> &str {
    key.rsplit(separator).next().unwrap_or(key)
}

/// The file that a figure is read from, if it is one of those that a case reads.
pub fn file_of(figure: &str) -> Option<&str> {
    let key = figure.strip_prefix(table::FILE.name)?.strip_prefix(':')?;
    Some(key.split(':').next().unwrap_or(key))
}

/// The figure of this name.
///
/// # Errors
/// What is wrong with the name or its key.
pub fn read(figure: &str) -> Result<&'static Figure, String> {
    let (name, key) = figure.split_once(':').map_or((figure, None), |(name, key)| (name, Some(key)));
    let names = || table::ALL.iter().map(|one| one.name).collect::<Vec<_>>();
    let found = Figure::named(name).ok_or_else(|| unknown("figure", name, &names()))?;
    match (&found.key, key) {
        (Key::None | Key::Optional(_), None) => Ok(found),
        (Key::None, Some(_)) => Err(format!("'{name}' has no key: remove ':'")),
        (Key::Required { example, .. }, None) => Err(format!("'{name}' needs a key: {name}:{example}")),
        (Key::Required { example, .. }, Some("")) => Err(format!("'{name}:' needs a key, as {example}")),
        (Key::Optional(form), Some("")) => Err(format!("'{name}:' needs a key, {form}")),
        (Key::Required { refuse, .. }, Some(key)) => refuse(name, key).map(|()| found),
        (Key::Optional(_), Some(_)) => Ok(found),
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(right) => format!("there is no {what} '{name}'; did you mean '{right}'?"),
        None => {
            let page =
                if what.contains("cause") { "the chapter Every cause" } else { "the chapter Study files" };
            format!("there is no {what} '{name}'; known are {}", known_words(name, known, page))
        }
    }
}

#[cfg(test)]
mod tests;
