// SPDX-License-Identifier: GPL-2.0-only
//! The output of memtier_benchmark 1.2 to 2.x (`run_stats.cpp`): its table, of which the columns depend on version and
//! options, or the file of `--json-out-file`. Latencies are in ms, bandwidths in KiB/s.

use crate::json;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use crate::{Error, text};
use dyntick_stats::{Better, Exposure};
use serde_json::{Map, Value};

const TOOL: &str = "memtier_benchmark";

/// The titles of tables. Of several runs (`--run-count`) there are the best, the worst, and the mean of all.
const ALL: &str = "ALL STATS";
const MEAN: &str = "AGGREGATED AVERAGE RESULTS";

pub(crate) fn knows(text: &str) -> bool {
    text.lines().any(|line| header(line).is_some())
}

pub(crate) fn knows_json(text: &str) -> bool {
    json::begin(text, &['{']).is_some()
        && text.contains("\"Ops/sec\"")
        && (text.contains(&format!("\"{ALL}\"")) || text.contains(MEAN))
}

/// Reads each table. Those of the best and the worst run are left out, for they are chosen by their figures.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let has_mean = text.lines().any(|line| line.trim().starts_with(MEAN));
    let mut columns: Option<Vec<&str>> = None;
    let (mut is_chosen, mut left_out) = (true, 0);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(title) = title(line) {
            is_chosen = !has_mean || title.starts_with(MEAN);
            left_out += usize::from(!is_chosen);
            columns = None;
        } else if let Some(found) = header(line) {
            columns = Some(found);
        } else if let Some((name, value)) = setting(line) {
            into.setting(name, value);
        } else if line.is_empty() || line.starts_with("Request Latency") {
            columns = None;
        } else if let Some(columns) = columns.as_ref().filter(|_| is_chosen && !is_ruler(line)) {
            row(columns, line, into)?.ok_or_else(|| Error::line(TOOL, index, line))?;
        }
    }
    if left_out > 0 {
        into.note("the tables of the best and the worst run are left out: the mean of all runs is read");
    }
    Ok(())
}

fn title(line: &str) -> Option<&str> {
    let is_title = line == ALL || line.starts_with(MEAN) || line.ends_with(" RUN RESULTS");
    is_title.then_some(line)
}

/// The columns of `Type         Ops/sec     Hits/sec   …`; names of two words end with `Latency`.
fn header(line: &str) -> Option<Vec<&str>> {
    let mut words = line.split("  ").map(str::trim).filter(|word| !word.is_empty());
    let columns: Vec<&str> = words.by_ref().collect();
    (columns.first() == Some(&"Type") && columns.get(1) == Some(&"Ops/sec")).then_some(columns)
}

fn is_ruler(line: &str) -> bool {
    line.chars().all(|c| c == '-' || c == '=')
}

/// Parses `4         Threads`.
fn setting(line: &str) -> Option<(&'static str, &str)> {
    const SETTINGS: [(&str, &str); 4] = [
        ("Threads", "threads"),
        ("Connections per thread", "connections"),
        ("Requests per client", "requests"),
        ("Seconds", "seconds"),
    ];
    let (value, label) = line.split_once(' ')?;
    let known = SETTINGS.iter().find(|(known, _)| label.trim() == *known)?;
    number(value).map(|_| (known.1, value))
}

/// Adds a row; `None` if it is not understood.
fn row(columns: &[&str], line: &str, into: &mut Collector) -> Result<Option<()>, Error> {
    let cells: Vec<&str> = line.split_ascii_whitespace().collect();
    if cells.len() != columns.len() {
        return Ok(None);
    }
    let place = cells[0];
    let mut figures = Vec::new();
    for (column, cell) in columns[1..].iter().zip(&cells[1..]) {
        match number(cell) {
            Some(value) => figures.push((*column, value)),
            None if *cell == "---" => {}
            None => return Ok(None),
        }
    }
    // Commands that did not run have a row of zeros.
    if figures.iter().any(|(column, rate)| *column == "Ops/sec" && *rate == 0.0) {
        return Ok(Some(()));
    }
    figures.into_iter().try_for_each(|(column, value)| put(place, column, value, into)).map(Some)
}

/// Adds a figure by the name of its column or key.
fn put(place: &str, column: &str, value: f64, into: &mut Collector) -> Result<(), Error> {
    let latency = column.strip_suffix("Latency").map(str::trim);
    let (word, kind, value) = match (column, latency) {
        (_, Some(word)) => {
            let word = match word {
                "" | "Avg." | "Average" => "avg".to_owned(),
                "Min" | "Min." => "min".to_owned(),
                "Max" | "Max." => "max".to_owned(),
                share => share.to_owned(),
            };
            (format!("latency/{word}"), Kind::of_time(&word), value * 1e6)
        }
        ("Ops/sec", _) => ("operations/s".to_owned(), Kind::RATE, value),
        ("Hits/sec", _) => ("hits/s".to_owned(), Kind::new("1/s", Better::Unknown), value),
        ("Misses/sec", _) => ("misses/s".to_owned(), Kind::new("1/s", Better::Unknown), value),
        ("KB/sec", _) => ("bw".to_owned(), Kind::BANDWIDTH, value * 1024.0),
        _ => return Ok(()),
    };
    into.value(&format!("memtier/{place}/{word}"), kind, value)
}

pub(crate) fn metrics_of_json(text: &str, into: &mut Collector) -> Result<(), Error> {
    for file in json::all::<Map<String, Value>>(TOOL, text)? {
        if let Some(Value::Object(run)) = file.get("run information") {
            for (name, key) in [
                ("Threads", "threads"),
                ("Connections per thread", "connections"),
                ("Requests per client", "requests"),
            ] {
                run.get(name).into_iter().for_each(|value| into.setting(key, &value.to_string()));
            }
        }
        let is_mean = |(name, _): &(&String, &Value)| name.starts_with(MEAN);
        let Some((_, Value::Object(all))) =
            file.iter().find(is_mean).or_else(|| file.iter().find(|(name, _)| *name == ALL))
        else {
            return Err(Error::json(TOOL, format_args!("there is no '{ALL}'")));
        };
        let ms = all.get("Runtime").and_then(|runtime| runtime["Total duration"].as_f64());
        for (place, figures) in all {
            let Value::Object(figures) = figures else { continue };
            let count = figures.get("Count").and_then(Value::as_u64);
            let Some(rate) = figures.get("Ops/sec").and_then(Value::as_f64).filter(|rate| *rate > 0.0) else {
                continue;
            };
            into.watched(Exposure { samples: count, seconds: ms.map(|ms| ms / 1e3), stopped_early: false });
            put(place, "Ops/sec", rate, into)?;
            put_figures(place, figures, into)?;
        }
    }
    Ok(())
}

fn put_figures(place: &str, figures: &Map<String, Value>, into: &mut Collector) -> Result<(), Error> {
    // Older versions call the mean Latency, newer ones both, and the same.
    let is_twice = figures.contains_key("Average Latency");
    for (key, value) in figures {
        let Some(value) = value.as_f64().filter(|_| key != "Ops/sec" && !(is_twice && key == "Latency"))
        else {
            continue;
        };
        put(place, key, value, into)?;
    }
    let Some(Value::Object(percentiles)) = figures.get("Percentile Latencies") else { return Ok(()) };
    for (key, value) in percentiles {
        let share = key.strip_prefix('p').and_then(text::number);
        if let Some((share, value)) = share.zip(value.as_f64()) {
            put(place, &format!("p{share} Latency"), value, into)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::values;
    use std::collections::BTreeMap;

    fn read(
        text: &str,
        metrics: fn(&str, &mut Collector) -> Result<(), Error>,
    ) -> Result<BTreeMap<String, f64>, Error> {
        values(TOOL, |into| metrics(text, into))
    }

    fn table(title: &str, rate: &str) -> String {
        format!(
            "{title}\n=====\nType         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency     p99.9 Latency       KB/sec\n-----\n\
             Sets         {rate}          ---          ---         2.38735         2.27100         6.65500       587.80\n\
             Gets            0.00         0.00         0.00             ---             ---             ---         0.00\n\n\
             Request Latency Distribution\nType     <= msec         Percent\n-----\nSET       0.100        10.0\n"
        )
    }

    #[test]
    fn table_is_read_by_its_header() {
        let text =
            format!("4         Threads\n50        Connections per thread\n\n\n{}", table(ALL, "7632.30"));
        assert!(knows(&text) && !knows_json(&text));
        let found = read(&text, metrics).unwrap();
        assert_eq!(
            (found["memtier/Sets/operations/s"], found["memtier/Sets/latency/avg"]),
            (7632.3, 2_387_350.0)
        );
        assert_eq!(
            (found["memtier/Sets/latency/p99.9"], found["memtier/Sets/bw"]),
            (6_655_000.0, 587.8 * 1024.0)
        );
        assert!(!found.contains_key("memtier/Gets/bw"));
        assert!(read(&text.replace("7632.30", "x"), metrics).is_err());
    }

    #[test]
    fn mean_of_several_runs_is_read() {
        let mean = format!("{MEAN} (2 runs)");
        let text =
            table("BEST RUN RESULTS", "9.0") + &table("WORST RUN RESULTS", "7.0") + &table(&mean, "8.0");
        assert_eq!(read(&text, metrics).unwrap()["memtier/Sets/operations/s"], 8.0);
    }

    #[test]
    fn json_has_the_same_names() {
        let text = "{\"run information\": {\"Threads\": 4}, \"ALL STATS\": {\"Runtime\": {\"Total duration\": 2000}, \
            \"Sets\": {\"Count\": 9, \"Ops/sec\": 7632.3, \"Latency\": 2.4, \"Average Latency\": 2.4, \"Max Latency\": 9.5, \
            \"KB/sec\": 587.8, \"Percentile Latencies\": {\"p99.90\": 6.655, \"Histogram log format\": {\"a\": 1}}}, \
            \"Gets\": {\"Count\": 0, \"Ops/sec\": 0.0}}}\n";
        assert!(knows_json(text) && !knows(text));
        let found = read(text, metrics_of_json).unwrap();
        assert_eq!(
            (found["memtier/Sets/latency/p99.9"], found["memtier/Sets/latency/max"]),
            (6_655_000.0, 9_500_000.0)
        );
        assert_eq!(found.len(), 5);
    }
}
