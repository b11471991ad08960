// SPDX-License-Identifier: GPL-2.0-only
//! The lines of JSON (`-j`).

use super::{Count, TOOL};
use crate::Error;
use crate::text::number;
use serde::Deserialize;
use serde_json::Value;

/// The longest line, in bytes.
const MAX_LINE: usize = 64 << 10;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Line {
    #[serde(default)]
    interval: Option<f64>,
    /// A number as text, since it may also be `<not counted>`.
    #[serde(default)]
    counter_value: Option<String>,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    event: String,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}

/// The keys that name the counted part of the machine, and the prefix for a bare number.
const PARTS: [(&str, &str); 9] = [
    ("cpu", "CPU"),
    ("core", "C"),
    ("cluster", "CL"),
    ("cache", "L"),
    ("die", "D"),
    ("socket", "S"),
    ("node", "N"),
    ("thread", ""),
    ("cgroup", ""),
];

/// Reads the counts. Lines that are not JSON come from the measured program. A line without a count has only a derived
/// figure.
pub fn parse(text: &str) -> Result<Vec<Count>, Error> {
    let mut counts = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| line.contains("\"counter-value\"")) {
        if line.len() > MAX_LINE {
            return Err(Error::line(TOOL, index, line));
        }
        // perf 6.9 prints a comma behind the last key where a metric has no unit.
        let repaired = line.replace(", }", "}");
        // With -M the line of a count may have a second object, of a derived figure.
        for read in serde_json::Deserializer::from_str(&repaired).into_iter::<Line>() {
            let line =
                read.map_err(|error| Error::json(TOOL, format_args!("line {}: {error}", index + 1)))?;
            if line.counter_value.is_some() {
                counts.push(count(line));
            }
        }
    }
    Ok(counts)
}

fn count(line: Line) -> Count {
    let Line { interval, counter_value, unit, event, others } = line;
    let part = PARTS.iter().find_map(|(key, mark)| Some(named(mark, others.get(*key)?)));
    let unit = if unit == "(null)" { String::new() } else { unit };
    Count { interval, part, event, value: counter_value.and_then(|value| number(&value)), unit }
}

fn named(mark: &str, part: &Value) -> String {
    let name = part.as_str().map_or_else(|| part.to_string(), str::to_owned);
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("{mark}{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_machine_are_named() {
        let line = |part: &str| {
            format!("{{{part}\"counter-value\" : \"37.0\", \"unit\" : \"\", \"event\" : \"cs\"}}\n")
        };
        let read = |part: &str| parse(&line(part)).unwrap()[0].part.clone();
        assert_eq!(read(""), None);
        assert_eq!(read("\"cpu\" : \"0\", ").as_deref(), Some("CPU0"));
        assert_eq!(read("\"socket\" : \"S0\", \"aggregate-number\" : 2, ").as_deref(), Some("S0"));
        let odd = line("").replace("}", ", } {\"metric-value\": \"1\"}");
        assert_eq!(parse(&odd).unwrap().len(), 1);
        let error = parse(&line("\"x\" ")).unwrap_err();
        assert!(error.to_string().starts_with("perf stat's JSON: line 1: expected `:`"), "{error}");
    }
}
