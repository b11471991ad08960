// SPDX-License-Identifier: GPL-2.0-only
//! The output of redis-benchmark 2.x to 7.x (`redis-benchmark.c`: `showLatencyReport`): blocks with a title for each
//! test, the short form of `-q`, or `--csv`. Times are in ms.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_stats::Exposure;

const TOOL: &str = "redis-benchmark";

/// The first column of the header of `--csv`, and its second.
const CSV: &str = "\"test\",\"rps\"";

/// Tests of the default set, which mark the CSV of versions before 6.2: it has no header.
const TESTS: [&str; 4] = ["\"PING_INLINE\",", "\"SET\",", "\"GET\",", "\"LPUSH\","];

pub(crate) fn knows(text: &str) -> bool {
    let is_mark = |line: &str| {
        line.starts_with(CSV)
            || quiet(line).is_some()
            || TESTS.iter().any(|test| line.starts_with(test)) && csv(line).is_some()
    };
    text.contains(" requests completed in ") && text.lines().any(|line| title(line).is_some())
        || text.lines().any(is_mark)
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let mut test: Option<&str> = None;
    let mut columns: Vec<&str> = Vec::new();
    let mut names_of_summary: Option<Vec<&str>> = None;
    let mut whole_ms = 0;
    for (index, line) in text.lines().enumerate() {
        // Live lines are overwritten by what follows the carriage return.
        let line = line.rsplit('\r').next().unwrap_or(line).trim();
        let wrong = || Error::line(TOOL, index, line);
        if let Some(name) = title(line) {
            (test, names_of_summary) = (Some(name), None);
            into.watched(Exposure::default());
        } else if line.starts_with(CSV) {
            columns = csv(line).ok_or_else(wrong)?;
        } else if let Some((name, rate, p50)) = quiet(line) {
            into.watched(Exposure::default());
            into.value(&format!("{TOOL}/{name}/requests/s"), Kind::RATE, rate)?;
            if let Some(ms) = p50 {
                into.value(&format!("{TOOL}/{name}/latency/p50"), Kind::TIME, ms * 1e6)?;
            }
        } else if let Some(cells) = csv(line).filter(|cells| cells.len() > 1) {
            row(&columns, &cells, into)?.ok_or_else(wrong)?;
        } else if let Some(name) = test {
            if let Some(exposure) = completed(line) {
                into.watched(exposure);
            } else if let Some((setting, value)) = setting(line) {
                into.setting(setting, value);
            } else if let Some(rate) = throughput(line) {
                let rate = number(rate).ok_or_else(wrong)?;
                into.value(&format!("{TOOL}/{name}/requests/s"), Kind::RATE, rate)?;
            } else if line.starts_with("avg ") {
                names_of_summary = Some(line.split_ascii_whitespace().collect());
            } else if let Some(names) = names_of_summary.take() {
                let values: Option<Vec<f64>> = line.split_ascii_whitespace().map(number).collect();
                let values = values.filter(|values| values.len() == names.len()).ok_or_else(wrong)?;
                for (word, ms) in names.into_iter().zip(values) {
                    into.value(&format!("{TOOL}/{name}/latency/{word}"), Kind::of_time(word), ms * 1e6)?;
                }
            } else if line.contains("% <= ") && !line.contains("cumulative") {
                whole_ms += 1;
            }
        }
    }
    if whole_ms > 0 {
        into.note("its latencies are shares below complete ms, and not read: those of 6.2 and later are");
    }
    Ok(())
}

/// Parses `====== SET ======`.
fn title(line: &str) -> Option<&str> {
    let name = line.strip_prefix("====== ")?.strip_suffix(" ======")?;
    Some(name.trim()).filter(|name| !name.is_empty())
}

/// Parses `SET: 153139.36 requests per second, p50=0.167 msec`; versions before 6.2 have no percentile.
fn quiet(line: &str) -> Option<(&str, f64, Option<f64>)> {
    let line = line.rsplit('\r').next()?.trim();
    let (name, rest) = line.split_once(": ")?;
    let (rate, rest) = rest.split_once(" requests per second")?;
    let p50 = rest.trim().strip_prefix(", p50=").and_then(|rest| number(rest.split_once(" msec")?.0));
    Some((name, number(rate.trim())?, p50)).filter(|_| name != "throughput summary")
}

/// Parses `100000 requests completed in 1.15 seconds`.
fn completed(line: &str) -> Option<Exposure> {
    let (count, rest) = line.split_once(" requests completed in ")?;
    let seconds = number(rest.split_once(" seconds")?.0);
    Some(Exposure { samples: count.parse().ok(), seconds, stopped_early: false })
}

/// Parses `50 parallel clients`, `3 bytes payload`, `keep alive: 1`, `threads: 4`.
fn setting(line: &str) -> Option<(&'static str, &str)> {
    let before = |end: &str| line.strip_suffix(end).filter(|value| number(value).is_some());
    before(" parallel clients")
        .map(|value| ("clients", value))
        .or_else(|| before(" bytes payload").map(|value| ("payload", value)))
        .or_else(|| line.strip_prefix("keep alive: ").map(|value| ("keep alive", value)))
        .or_else(|| line.strip_prefix("threads: ").map(|value| ("threads", value)))
}

/// Parses `throughput summary: 86956.52 requests per second`; before 6.2 `86956.52 requests per second`.
fn throughput(line: &str) -> Option<&str> {
    let rate = line.strip_suffix(" requests per second")?;
    Some(rate.strip_prefix("throughput summary: ").unwrap_or(rate))
}

/// The cells of a line of which each is in quotes.
fn csv(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix('"')?.strip_suffix('"')?;
    Some(inner.split("\",\"").collect())
}

/// Adds a row of the CSV; `None` if it is not understood.
fn row(columns: &[&str], cells: &[&str], into: &mut Collector) -> Result<Option<()>, Error> {
    let columns = if columns.is_empty() { &["test", "rps"] } else { columns };
    let [name, values @ ..] = cells else { return Ok(None) };
    if cells.len() != columns.len() {
        return Ok(None);
    }
    for (column, text) in columns[1..].iter().zip(values) {
        let Some(value) = number(text) else { return Ok(None) };
        let word = column.strip_suffix("_latency_ms");
        let (name, kind, value) = match word {
            Some(word) => (format!("{name}/latency/{word}"), Kind::of_time(word), value * 1e6),
            None if *column == "rps" => (format!("{name}/requests/s"), Kind::RATE, value),
            None => continue,
        };
        into.value(&format!("{TOOL}/{name}"), kind, value)?;
    }
    Ok(Some(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::values;
    use std::collections::BTreeMap;

    fn read(text: &str) -> Result<BTreeMap<String, f64>, Error> {
        values(TOOL, |into| metrics(text, into))
    }

    #[test]
    fn blocks_are_read() {
        let text = "====== MSET (10 keys) ======\n  100000 requests completed in 1.15 seconds\n  50 parallel clients\n  \
            3 bytes payload\n  keep alive: 1\n\nLatency by percentile distribution:\n\
            50.000% <= 0.303 milliseconds (cumulative count 52000)\n\nSummary:\n  \
            throughput summary: 86956.52 requests per second\n  latency summary (msec):\n          \
            avg       min       p50       p95       p99       max\n        0.311     0.120     0.303     0.455     0.591     1.111\n";
        assert!(knows(text));
        let found = read(text).unwrap();
        assert_eq!(found["redis-benchmark/MSET (10 keys)/requests/s"], 86956.52);
        assert_eq!(found["redis-benchmark/MSET (10 keys)/latency/p99"], 591_000.0);
        assert!(read(&text.replace("0.455", "x")).is_err());
    }

    #[test]
    fn short_forms_are_read() {
        let quiet = "SET: rps=1.0 (overall: 2.0)\rSET: 153139.36 requests per second, p50=0.167 msec\nGET: 9.5 requests per second\n";
        assert!(knows(quiet));
        let found = read(quiet).unwrap();
        assert_eq!(
            (found["redis-benchmark/SET/latency/p50"], found["redis-benchmark/GET/requests/s"]),
            (167_000.0, 9.5)
        );
        let csv =
            "\"test\",\"rps\",\"avg_latency_ms\",\"max_latency_ms\"\n\"SET\",\"15.25\",\"0.178\",\"1.799\"\n";
        assert!(knows(csv));
        assert_eq!(read(csv).unwrap()["redis-benchmark/SET/latency/max"], 1_799_000.0);
        let old = "\"PING_INLINE\",\"153139.36\"\n\"SET\",\"7.5\"\n";
        assert!(knows(old) && !knows("\"a\",\"1\"\n"));
        assert_eq!(read(old).unwrap()["redis-benchmark/SET/requests/s"], 7.5);
        assert!(read(&old.replace("7.5", "x")).is_err());
    }
}
