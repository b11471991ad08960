// SPDX-License-Identifier: GPL-2.0-only
//! The output of schbench: blocks of percentiles, printed again at each interval, or since 2024 the file of `--json`.
//! Until version 1.0 (2023) there was one block, `Latency percentiles (usec)`. Since then there are three, of wake-up
//! latencies, request latencies and requests per second.

use crate::Error;
use crate::json;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_stats::Exposure;
use serde::Deserialize;
use std::collections::BTreeMap;

const TOOL: &str = "schbench";

/// The blocks by name: `wakeup`, `request`, `rps` or, in old versions, `latency`.
pub type Blocks = BTreeMap<String, Figures>;

/// The figures of a block in their order, e.g. `p99.9`, `min` and `avg`: latencies in µs, `rps` in 1/s.
pub type Figures = Vec<(String, f64)>;

#[derive(Deserialize)]
struct File {
    int: BTreeMap<String, serde_json::Number>,
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The blocks, as they were printed last.
    pub blocks: Blocks,
    /// The exposure of each block.
    pub exposures: BTreeMap<String, Exposure>,
}

/// Reads the runs, from either form. A run ends with its average rate; old versions print none, and are one run.
pub fn parse(text: &str) -> Result<Vec<Run>, Error> {
    let runs =
        if is_json(text) { vec![Run { blocks: of_json(text)?, ..Run::default() }] } else { of_text(text)? };
    if runs.iter().all(|run| run.blocks.is_empty()) { Err(Error::Nothing { tool: TOOL }) } else { Ok(runs) }
}

fn is_json(text: &str) -> bool {
    text.contains("\"wakeup_latency_")
}

pub(crate) fn knows(text: &str) -> bool {
    is_json(text) || text.lines().any(|line| block(line).is_some())
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    for run in parse(text)? {
        for (block, figures) in run.blocks {
            into.watched(run.exposures.get(&block).copied().unwrap_or_default());
            for (figure, value) in figures {
                let (kind, factor) = if block == "rps" {
                    (Kind::RATE, 1.0)
                } else {
                    (Kind::of_time(&figure).cut_to(1e3), 1e3)
                };
                into.value(&format!("schbench/{block}/{figure}"), kind, value * factor)?;
            }
        }
    }
    Ok(())
}

/// Reads keys such as `"wakeup_latency_pct99.9": 5128`.
fn of_json(text: &str) -> Result<Blocks, Error> {
    let mut blocks = Blocks::new();
    for (key, value) in json::first::<File>(TOOL, text)?.int {
        let known = [("wakeup_latency_", "wakeup"), ("request_latency_", "request"), ("rps_", "rps")];
        let Some((figure, block)) =
            known.iter().find_map(|(mark, block)| Some((key.strip_prefix(mark)?, block)))
        else {
            continue;
        };
        let wrong = || Error::json(TOOL, format_args!("'{key}' is not a percentile"));
        let figure =
            figure.strip_prefix("pct").map_or(Some(figure.to_owned()), percentile).ok_or_else(wrong)?;
        blocks.entry((*block).to_owned()).or_default().extend(value.as_f64().map(|value| (figure, value)));
    }
    Ok(blocks)
}

/// Translates `99.0`, in old versions `99.0000`, to `p99`; `None` if it is not a share.
fn percentile(share: &str) -> Option<String> {
    number(share).filter(|share| (0.0..=100.0).contains(share)).map(|share| format!("p{share}"))
}

/// The name of the block that a line begins.
fn block(line: &str) -> Option<&'static str> {
    let begins = [
        ("Wakeup Latencies percentiles (usec)", "wakeup"),
        ("Request Latencies percentiles (usec)", "request"),
        ("RPS percentiles (requests)", "rps"),
        ("Latency percentiles (usec)", "latency"),
    ];
    begins.iter().find_map(|(mark, block)| line.starts_with(mark).then_some(*block))
}

fn of_text(text: &str) -> Result<Vec<Run>, Error> {
    let (mut runs, mut run) = (Vec::new(), Run::default());
    let mut current = None;
    for (index, line) in text.lines().enumerate() {
        let wrong = || Error::line(TOOL, index, line);
        if let Some(name) = block(line) {
            run.blocks.insert(name.to_owned(), Figures::new());
            run.exposures.insert(name.to_owned(), exposure(line));
            current = Some(name);
        } else if let Some(rps) = line.strip_prefix("average rps: ") {
            let rps = number(rps.trim()).ok_or_else(wrong)?;
            run.blocks.entry("rps".into()).or_default().push(("avg".into(), rps));
            runs.push(std::mem::take(&mut run));
            current = None;
        } else if let Some(name) = current.filter(|_| line.starts_with(['\t', ' '])) {
            let figures = row(line).ok_or_else(wrong)?;
            run.blocks.entry(name.to_owned()).or_default().extend(figures);
        } else {
            current = None;
        }
    }
    // Blocks below the last average are those of a run that was ended.
    if runs.is_empty() {
        runs.push(run);
    }
    Ok(runs)
}

/// Parses `… runtime 30 (s) (434563 total samples)`.
fn exposure(line: &str) -> Exposure {
    let before = |mark: &str| line.split_once(mark)?.0.rsplit([' ', '(']).next()?.parse::<u64>().ok();
    let seconds = before(" (s)").map(|seconds| seconds as f64);
    Exposure { samples: before(" total samples"), seconds, stopped_early: false }
}

/// Parses `\t* 99.0th: 5272       (20 samples)` or `\t  min=3, max=9474`.
fn row(line: &str) -> Option<Figures> {
    let line = line.trim().trim_start_matches('*').trim_start();
    if let Some((share, rest)) = line.split_once("th:") {
        return Some(vec![(percentile(share)?, number(rest.split_ascii_whitespace().next()?)?)]);
    }
    let pair = |word: &str| {
        let (name, value) = word.trim().split_once('=')?;
        Some((name.to_owned(), number(value)?))
    };
    // The number of samples beyond the histogram adds nothing to the maximum.
    let is_count = |(name, _): &(String, f64)| name == "Over";
    let figures = line.split(',').map(pair).collect::<Option<Figures>>()?;
    Some(figures.into_iter().filter(|figure| !is_count(figure)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_form_is_read() {
        let text = "Latency percentiles (usec)\n\t50.0000th: 4\n\t*99.0000th: 13\n\t99.5000th: 60\n\tOver=0, min=0, max=214\n";
        let blocks = parse(text).unwrap().remove(0).blocks;
        let expected = [("p50", 4.0), ("p99", 13.0), ("p99.5", 60.0), ("min", 0.0), ("max", 214.0)];
        assert_eq!(blocks["latency"], expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn average_rate_ends_a_run() {
        let block = |max: u32| {
            format!(
                "Wakeup Latencies percentiles (usec) runtime 30 (s) (434 total samples)\n  * 99.0th: 9 (1 samples)\n  min=1, max={max}\n"
            )
        };
        let run = |max: u32| block(1) + &block(max) + "average rps: 5.5\n";
        let runs = parse(&(run(7) + &run(8) + &block(9))).unwrap();
        let max = |run: &Run| run.blocks["wakeup"].last().unwrap().1;
        assert_eq!(runs.iter().map(max).collect::<Vec<_>>(), [7.0, 8.0]);
        let expected = Exposure { samples: Some(434), seconds: Some(30.0), stopped_early: false };
        assert_eq!(runs[0].exposures["wakeup"], expected);
    }

    #[test]
    fn invalid_output_is_refused() {
        let text = "Latency percentiles (usec)\n\t50.0th: x\n";
        assert_eq!(parse(text).unwrap_err(), Error::line(TOOL, 1, "\t50.0th: x"));
        assert_eq!(parse("setting worker threads to 2\n").unwrap_err(), Error::Nothing { tool: TOOL });
    }
}
