// SPDX-License-Identifier: GPL-2.0-only
//! The output of wrk 4.x and wrk2 (`wrk.c`, `units.c`): latencies, requests, bytes per second. With `--latency` there
//! are percentiles. wrk2 has more of them, and with `-u` those of latencies without the wait for a late request.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_stats::{Better, Exposure};

const TOOL: &str = "wrk";

/// The end of a run.
const END: &str = "Requests/sec:";

pub(crate) fn knows(text: &str) -> bool {
    text.lines().any(|line| begin(line).is_some()) && text.contains("Thread Stats")
}

/// Reads each run. One without its last lines was killed.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let lines: Vec<(usize, &str)> = text.lines().enumerate().collect();
    let begins: Vec<usize> = (0..lines.len()).filter(|at| begin(lines[*at].1).is_some()).collect();
    let ends = begins.iter().skip(1).copied().chain([lines.len()]);
    for (begin, end) in begins.iter().zip(ends) {
        let lines = &lines[*begin..end];
        if !lines.iter().any(|(_, line)| line.starts_with(END)) {
            return Err(Error::Nothing { tool: TOOL });
        }
        run(lines, into)?;
    }
    Ok(())
}

/// Parses `Running 30s test @ http://127.0.0.1/`: the address.
fn begin(line: &str) -> Option<&str> {
    line.trim().strip_prefix("Running ")?.split_once(" test @ ").map(|(_, address)| address)
}

fn run(lines: &[(usize, &str)], into: &mut Collector) -> Result<(), Error> {
    let exposure = lines.iter().find_map(|(_, line)| requests(line)).unwrap_or_default();
    into.watched(exposure);
    let mut percentiles: Option<&str> = None;
    let (mut errors, mut statuses) = (0.0, 0.0);
    for (index, line) in lines {
        let trimmed = line.trim();
        let wrong = || Error::line(TOOL, *index, line);
        let words: Vec<&str> = trimmed.split_ascii_whitespace().collect();
        if let Some(address) = begin(line) {
            into.setting("address", address);
        } else if let Some((threads, connections)) = load(trimmed) {
            into.setting("threads", threads);
            into.setting("connections", connections);
        } else if trimmed.starts_with("Latency Distribution") {
            let is_plain = !trimmed.contains("Uncorrected");
            percentiles = Some(if is_plain { "latency" } else { "uncorrected latency" });
        } else if let ["Latency", average, deviation, max, ..] = words[..] {
            for (word, text) in [("avg", average), ("deviation", deviation), ("max", max)] {
                let ns = time(text).ok_or_else(wrong)?;
                into.value(&format!("wrk/latency/{word}"), Kind::of_time(word), ns)?;
            }
        } else if let Some((name, [share, text])) = percentiles.zip(words.first_chunk()) {
            let Some(share) = share.strip_suffix('%').and_then(number).filter(|_| words.len() == 2) else {
                percentiles = None;
                continue;
            };
            let ns = time(text).ok_or_else(wrong)?;
            // The largest is in the table of threads.
            if share < 100.0 || name != "latency" {
                into.value(&format!("wrk/{name}/p{share}"), Kind::TIME, ns)?;
            }
        } else if let Some(rest) = trimmed.strip_prefix("Socket errors:") {
            let counts = rest.split(',').map(|part| part.split_ascii_whitespace().last().and_then(number));
            errors = counts.sum::<Option<f64>>().ok_or_else(wrong)?;
        } else if let Some(count) = trimmed.strip_prefix("Non-2xx or 3xx responses:") {
            statuses = number(count.trim()).ok_or_else(wrong)?;
        } else if let Some(rate) = trimmed.strip_prefix(END) {
            into.value("wrk/requests/s", Kind::RATE, number(rate.trim()).ok_or_else(wrong)?)?;
        } else if let Some(rate) = trimmed.strip_prefix("Transfer/sec:") {
            into.value("wrk/transfer", Kind::BANDWIDTH, bytes(rate.trim()).ok_or_else(wrong)?)?;
        } else {
            percentiles = None;
        }
    }
    // Lines of errors are printed only if there are any.
    into.value("wrk/socket errors", Kind::UNWANTED.growing(), errors)?;
    into.value("wrk/responses other than 2xx and 3xx", Kind::new("", Better::Lower).growing(), statuses)
}

/// Parses `12 threads and 400 connections`.
fn load(line: &str) -> Option<(&str, &str)> {
    let (threads, rest) = line.split_once(" threads and ")?;
    Some((threads, rest.strip_suffix(" connections")?))
}

/// Parses `22464657 requests in 30.00s, 17.76GB read`.
fn requests(line: &str) -> Option<Exposure> {
    let (count, rest) = line.trim().split_once(" requests in ")?;
    let seconds = rest.split(',').next().and_then(time).map(|ns| ns / 1e9);
    Some(Exposure { samples: count.parse().ok(), seconds, stopped_early: false })
}

/// Parses a time with wrk's unit, in ns.
fn time(text: &str) -> Option<f64> {
    let (value, unit) = split(text)?;
    let ns = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    Some(value * ns)
}

/// Parses bytes with wrk's unit, which counts by 1024.
fn bytes(text: &str) -> Option<f64> {
    let (value, unit) = split(text)?;
    let power = ["B", "KB", "MB", "GB", "TB", "PB"].iter().position(|known| *known == unit)?;
    Some(value * 1024f64.powi(power as i32))
}

fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    Some((number(&text[..at])?, &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Clock;
    use dyntick_stats::Values;
    use std::collections::BTreeMap;

    fn read(text: &str) -> Result<BTreeMap<String, Vec<f64>>, Error> {
        let mut collector = Collector::new(TOOL, Clock::Wall);
        metrics(text, &mut collector)?;
        let values = |metric: &dyntick_stats::Metric| match &metric.values {
            Values::Runs(values) => values.clone(),
            Values::Distribution(_) => panic!(),
        };
        let output = collector.finish()?;
        Ok(output.metrics.iter().map(|(name, metric)| (name.to_string(), values(metric))).collect())
    }

    const HEAD: &str = "Running 30s test @ http://127.0.0.1:80/\n  12 threads and 400 connections\n  \
        Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   635.91us    0.89ms  12.92ms   93.69%\n    \
        Req/Sec    56.20k     8.07k   62.00k    86.54%\n";
    const FOOT: &str = "  22464657 requests in 30.00s, 17.76GB read\n  \
        Socket errors: connect 0, read 3, write 0, timeout 2\nRequests/sec: 748868.53\nTransfer/sec:    606.33MB\n";

    #[test]
    fn latencies_and_rates_are_read() {
        let text = format!("{HEAD}  Latency Distribution\n     50%  250.00us\n     99%    5.80ms\n{FOOT}");
        assert!(knows(&text));
        let found = read(&(text.clone() + &text)).unwrap();
        assert_eq!(found["wrk/requests/s"], [748_868.53, 748_868.53]);
        assert_eq!((found["wrk/latency/p99"][0], found["wrk/latency/avg"][0]), (5_800_000.0, 635_910.0));
        assert_eq!((found["wrk/transfer"][0], found["wrk/socket errors"][0]), (606.33 * 1_048_576.0, 5.0));
    }

    #[test]
    fn percentiles_of_wrk2_are_read() {
        let text = format!(
            "{HEAD}  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    1.06ms\n 99.900%    2.50ms\n\
             100.000%   12.92ms\n\n  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n\n       \
             0.160     0.000000            1         1.00\n#[Mean    =        1.070, StdDeviation   =        0.500]\n{FOOT}"
        );
        let found = read(&text).unwrap();
        assert_eq!((found["wrk/latency/p50"][0], found["wrk/latency/p99.9"][0]), (1_060_000.0, 2_500_000.0));
        assert!(!found.contains_key("wrk/latency/p100"));
    }

    #[test]
    fn invalid_runs_are_refused() {
        assert_eq!(read(HEAD).unwrap_err(), Error::Nothing { tool: TOOL });
        let text = format!("{HEAD}{FOOT}").replace("635.91us", "635.91x");
        assert!(matches!(read(&text), Err(Error::Line { line: 4, .. })));
    }
}
