// SPDX-License-Identifier: GPL-2.0-only
//! The output of qperf (qperf 0.4.11, `qperf.c`: `show_info`, `view_time` and similar functions): the name of each
//! test on its own line, and below it lines `name  =  value unit`.

pub use crate::error::QperfError;

use crate::Error;
use crate::metrics::{Collector, Kind};
use dyntick_stats::Better;
use std::collections::BTreeMap;

/// The values of one test by their names, e.g. `latency` and `bw`; times in µs, rates in 1/s or B/s.
pub type Values = BTreeMap<String, f64>;

/// Reads the tests by their names, without values that are not measurements, e.g. `protocol  =  TCP`.
pub fn parse(text: &str) -> Result<BTreeMap<String, Values>, QperfError> {
    let mut tests: BTreeMap<String, Values> = BTreeMap::new();
    let mut current: Option<String> = None;
    for (index, line) in text.lines().enumerate() {
        let wrong = || QperfError::Line { line: index + 1, text: line.chars().take(60).collect() };
        if line.trim().is_empty() {
            continue;
        }
        match (line.starts_with(char::is_whitespace), &current) {
            (false, _) => {
                let name = line.trim_end().strip_suffix(':').ok_or_else(wrong)?;
                tests.insert(name.to_owned(), Values::new());
                current = Some(name.to_owned());
            }
            (true, Some(test)) => {
                let (name, value) = line.split_once('=').ok_or_else(wrong)?;
                let values = tests.entry(test.clone()).or_default();
                values.extend(measured(value).map(|value| (name.trim().to_owned(), value)));
            }
            (true, None) => return Err(wrong()),
        }
    }
    Ok(tests)
}

/// Recognises a test's name with a value below it.
pub(crate) fn knows(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.windows(2).any(|pair| is_name(pair[0]) && is_value(pair[1]))
}

fn is_name(line: &str) -> bool {
    let Some(name) = line.trim_end().strip_suffix(':') else { return false };
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_value(line: &str) -> bool {
    line.starts_with(char::is_whitespace) && line.contains("  =  ")
}

/// Adds the metrics of each test in their order: a test that was printed again is another run. Settings that qperf
/// repeats (`-v`), e.g. the message size, are left out. Lines of a shell around the output are skipped.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let (mut test, mut foreign) = (None, 0);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if is_name(line) {
            test = Some(line.trim_end().trim_end_matches(':'));
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| line.starts_with(char::is_whitespace))
        else {
            test = None;
            foreign += 1;
            continue;
        };
        let (Some(test), name) = (test, name.trim()) else {
            foreign += 1;
            continue;
        };
        let (kind, factor) = match name {
            "latency" => (Kind::TIME, 1e3),
            "bw" | "send_bw" | "recv_bw" => (Kind::BANDWIDTH, 1.0),
            "msg_rate" => (Kind::RATE, 1.0),
            _ if name.ends_with("_cost") => (Kind::new("", Better::Lower), 1.0),
            "msg_size" | "protocol" | "time" => {
                into.setting(if name == "time" { "time" } else { "message" }, value.trim());
                continue;
            }
            _ => continue,
        };
        let value = measured(value).ok_or_else(|| Error::line("qperf", index, line))?;
        into.value(&format!("qperf/{test}/{name}"), kind, value * factor)?;
    }
    into.skipped(foreign);
    Ok(())
}

/// Parses `151 us`, `1.2 GB/sec`, `12,345`.
fn measured(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let number: f64 = words.next()?.replace(',', "").parse().ok()?;
    Some(number * factor(words.next().unwrap_or(""))?)
}

/// The factor to µs, 1/s or B/s. qperf's prefixes are decimal, those of kib and similar units binary.
fn factor(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-3),
        "us" => Some(1.0),
        "ms" => Some(1e3),
        "sec" => Some(1e6),
        "/sec" => Some(1.0),
        _ => [("B/sec", 1.0), ("b/sec", 0.125), ("/sec", 1.0), ("", 1.0)]
            .iter()
            .find_map(|(end, factor)| Some(prefix(unit.strip_suffix(end)?)? * factor)),
    }
}

fn prefix(text: &str) -> Option<f64> {
    match text {
        "" => Some(1.0),
        "K" | "k" => Some(1e3),
        "M" | "m" => Some(1e6),
        "G" | "g" => Some(1e9),
        "T" | "t" => Some(1e12),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The output of qperf 0.4.11 with `-v`, shortened.
    const REAL: &str = "tcp_lat:\n    latency         =  16.2 us\n    msg_rate        =  61.7 K/sec\n    \
                        time            =     2 sec\n    protocol        =  TCP\n\ntcp_bw:\n    bw  =  1.62 GB/sec\n";

    #[test]
    fn tests_are_read_with_their_values() {
        let tests = parse(REAL).unwrap();
        let latency = &tests["tcp_lat"];
        assert_eq!((latency["latency"], latency["msg_rate"], latency["time"]), (16.2, 61700.0, 2e6));
        assert!(!latency.contains_key("protocol"));
        assert_eq!(tests["tcp_bw"]["bw"], 1.62e9);
    }

    #[test]
    fn prompts_bits_and_repetitions_are_read() {
        let mut collector = Collector::new("qperf", dyntick_model::Clock::Wall);
        let text = format!("$ qperf host tcp_lat\n{REAL}{}", REAL.replace("1.62 GB/sec", "8 Gb/sec"));
        assert!(knows(&text));
        metrics(&text, &mut collector).unwrap();
        let output = collector.finish().unwrap();
        let (_, bw) = output.metrics.iter().find(|(name, _)| name.as_str() == "qperf/tcp_bw/bw").unwrap();
        assert_eq!(bw.values, dyntick_stats::Values::Runs(vec![1.62e9, 1e9]));
        assert_eq!(output.notes, ["1 line that is not qperf's skipped"]);
        let odd = REAL.replace("GB/sec", "furlongs");
        assert!(metrics(&odd, &mut Collector::new("qperf", dyntick_model::Clock::Wall)).is_err());
    }

    #[test]
    fn other_output_is_refused() {
        let error = parse("unable to bind to listen port\n").unwrap_err();
        assert!(error.to_string().starts_with("line 1: 'unable to bind"), "{error}");
        assert!(parse("    latency = 1 us\n").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(tcp_lat:\n|    latency  =  |[0-9.,]{1,5} |us\n|[a-z =\n]){0,40}") {
            let _ = parse(&text);
        }
    }
}
