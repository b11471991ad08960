// SPDX-License-Identifier: GPL-2.0-only
//! Benchmarks whose output is a few lines: perf bench, sysbench, sockperf, iperf3 and netperf.

use crate::Error;
use crate::json;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_stats::{Better, Exposure};
use serde_json::Value;

pub(crate) fn knows_perf_bench(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("# Running '"))
}

/// Reads each `# Running 'sched/messaging' benchmark:` with the lines below it.
pub(crate) fn metrics_of_perf_bench(text: &str, into: &mut Collector) -> Result<(), Error> {
    let mut name = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("# Running '") {
            name = format!("perf bench/{}", rest.split('\'').next().unwrap_or("").trim());
        } else if let Some(setting) = line.strip_prefix("# ") {
            into.setting("work", setting);
        } else if !name.is_empty() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let value = |at: usize| words.get(at).and_then(|word| number(&word.replace(',', "")));
            let (what, kind, value) = match words[..] {
                ["Total", "time:", _, "[sec]", ..] => {
                    ("time", Kind::TIME, value(2).map(|seconds| seconds * 1e9))
                }
                [_, "usecs/op", ..] => ("time of an operation", Kind::TIME, value(0).map(|us| us * 1e3)),
                [_, "ops/sec", ..] => ("operations", Kind::RATE, value(0)),
                ["Averaged", _, "operations/sec", ..] => ("operations", Kind::RATE, value(1)),
                [_, "GB/sec", ..] => ("bandwidth", Kind::BANDWIDTH, value(0).map(|rate| rate * 1e9)),
                [_, "MB/sec", ..] => ("bandwidth", Kind::BANDWIDTH, value(0).map(|rate| rate * 1e6)),
                _ => continue,
            };
            if let Some(value) = value {
                into.value(&format!("{name}/{what}"), kind, value)?;
            }
        }
    }
    Ok(())
}

pub(crate) fn knows_sysbench(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("sysbench ") && line.contains("LuaJIT"))
        || text.contains("Running the test with following options:")
}

/// Reads sysbench 1.x.
pub(crate) fn metrics_of_sysbench(text: &str, into: &mut Collector) -> Result<(), Error> {
    let mut in_latency = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("sysbench ") {
            into.watched(Exposure::default());
        }
        if let Some((_, rate)) = line.split_once(" MiB transferred (") {
            let rate = rate.split_ascii_whitespace().next().and_then(number);
            let rate = rate.ok_or_else(|| Error::line("sysbench", index, line))?;
            into.value("sysbench/transferred", Kind::BANDWIDTH, rate * 1_048_576.0)?;
        }
        let Some((label, value)) = line.split_once(':') else { continue };
        let (label, value) = (label.trim(), value.trim());
        let per_second = || number(value.split_once('(')?.1.split_ascii_whitespace().next()?);
        in_latency = label == "Latency (ms)" || in_latency && !value.is_empty();
        let (name, kind, value) = match label {
            "Number of threads" => {
                into.setting("threads", value);
                continue;
            }
            "events per second" | "events/s (eps)" => ("events", Kind::RATE, number(value)),
            "transactions" => ("transactions", Kind::RATE, per_second()),
            "queries" => ("queries", Kind::RATE, per_second()),
            "reads/s" => ("reads", Kind::RATE, number(value)),
            "writes/s" => ("writes", Kind::RATE, number(value)),
            "fsyncs/s" => ("fsyncs", Kind::RATE, number(value)),
            "read, MiB/s" => ("read", Kind::BANDWIDTH, number(value).map(|rate| rate * 1_048_576.0)),
            "written, MiB/s" => ("written", Kind::BANDWIDTH, number(value).map(|rate| rate * 1_048_576.0)),
            "min" | "avg" | "max" | "95th percentile" | "99th percentile" if in_latency => {
                let word = match label {
                    "95th percentile" => "p95",
                    "99th percentile" => "p99",
                    other => other,
                };
                let ms = number(value).ok_or_else(|| Error::line("sysbench", index, line))?;
                into.value(&format!("sysbench/latency/{word}"), Kind::of_time(word), ms * 1e6)?;
                continue;
            }
            _ => continue,
        };
        let value = value.ok_or_else(|| Error::line("sysbench", index, line))?;
        into.value(&format!("sysbench/{name}/s"), kind, value)?;
    }
    Ok(())
}

pub(crate) fn knows_sockperf(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("sockperf: ")) && text.contains("avg-latency=")
}

/// Reads sockperf's latencies, in µs; half of a round trip.
pub(crate) fn metrics_of_sockperf(text: &str, into: &mut Collector) -> Result<(), Error> {
    let seconds = text.lines().find_map(|line| {
        let (_, rest) = line.split_once("[Valid Duration] RunTime=")?;
        number(rest.split_ascii_whitespace().next()?)
    });
    for (index, line) in text.lines().enumerate() {
        let Some(said) = line.strip_prefix("sockperf: ") else { continue };
        let wrong = || Error::line("sockperf", index, line);
        if let Some((_, rest)) = said.split_once("avg-latency=") {
            let average = rest.split([' ', '(']).next().and_then(number).ok_or_else(wrong)?;
            into.value("sockperf/latency/avg", Kind::TIME, average * 1e3)?;
        } else if let Some(rest) = said.strip_prefix("Total ") {
            let samples = rest.split_ascii_whitespace().next().and_then(|count| count.parse().ok());
            into.watched(Exposure { samples, seconds, stopped_early: false });
        } else if let Some((name, value)) = said.strip_prefix("---> ").and_then(|rest| rest.split_once('=')) {
            let us = number(value.trim()).ok_or_else(wrong)?;
            let name = name.trim();
            let word = match name.strip_prefix("percentile ") {
                Some(share) => format!("p{}", number(share.trim()).ok_or_else(wrong)?),
                None if name.contains("MAX") => "max".to_owned(),
                None if name.contains("MIN") => "min".to_owned(),
                None => continue,
            };
            into.value(&format!("sockperf/latency/{word}"), Kind::of_time(&word), us * 1e3)?;
        }
    }
    Ok(())
}

pub(crate) fn knows_iperf3(text: &str) -> bool {
    text.contains("\"test_start\"") && text.contains("\"bits_per_second\"")
}

/// Reads the sums at the end of `iperf3 --json`.
pub(crate) fn metrics_of_iperf3(text: &str, into: &mut Collector) -> Result<(), Error> {
    for run in json::all::<Value>("iperf3", text)? {
        if let Some(error) = run["error"].as_str() {
            return Err(Error::Failed { tool: "iperf3", what: error.to_owned() });
        }
        let start = &run["start"]["test_start"];
        for name in ["protocol", "num_streams", "duration", "reverse", "blksize"] {
            if let Some(value) = start.get(name) {
                into.setting(name, value.as_str().unwrap_or(&value.to_string()));
            }
        }
        let protocol = start["protocol"].as_str().unwrap_or("TCP").to_ascii_lowercase();
        for (key, word) in [("sum_sent", "sent"), ("sum_received", "received"), ("sum", "sum")] {
            let sum = &run["end"][key];
            let name = |what: &str| format!("iperf3/{protocol}/{word}/{what}");
            into.watched(Exposure { seconds: sum["seconds"].as_f64(), ..Exposure::default() });
            let figures = [
                ("bits_per_second", "bw", Kind::BANDWIDTH, 0.125),
                ("retransmits", "retransmits", Kind::UNWANTED.growing(), 1.0),
                ("jitter_ms", "jitter", Kind::TIME, 1e6),
                ("lost_percent", "lost", Kind::new("%", Better::Lower), 1.0),
            ];
            for (key, what, kind, factor) in figures {
                if let Some(value) = sum[key].as_f64() {
                    into.value(&name(what), kind, value * factor)?;
                }
            }
        }
    }
    Ok(())
}

pub(crate) fn knows_netperf(text: &str) -> bool {
    text.lines().any(|line| is_netperf_test(line).is_some())
}

/// The test that a line of netperf names: `MIGRATED TCP REQUEST/RESPONSE TEST from …`.
fn is_netperf_test(line: &str) -> Option<String> {
    let (name, _) = line.split_once(" TEST from ")?;
    let name = name.trim().trim_start_matches("MIGRATED ");
    let known = ["STREAM", "MAERTS", "REQUEST/RESPONSE", "CONNECT", "SENDFILE"];
    known.iter().any(|kind| name.contains(kind)).then(|| name.to_lowercase().replace('/', " "))
}

/// Reads the last column of the first row of numbers below each test: a throughput in 10^6 bits/s, or transactions/s.
pub(crate) fn metrics_of_netperf(text: &str, into: &mut Collector) -> Result<(), Error> {
    let mut test: Option<String> = None;
    for line in text.lines() {
        if let Some(name) = is_netperf_test(line) {
            test = Some(name);
            continue;
        }
        let numbers: Option<Vec<f64>> = line.split_ascii_whitespace().map(number).collect();
        let row = numbers.filter(|numbers| numbers.len() >= 4);
        if let Some((name, rate)) = test.clone().zip(row.and_then(|row| row.last().copied())) {
            let is_rate = name.contains("request") || name.contains("connect");
            let (what, kind, factor) = if is_rate {
                ("transactions/s", Kind::RATE, 1.0)
            } else {
                ("bw", Kind::BANDWIDTH, 125_000.0)
            };
            into.value(&format!("netperf/{name}/{what}"), kind, rate * factor)?;
            test = None;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::values;
    use std::collections::BTreeMap;

    type Read = fn(&str, &mut Collector) -> Result<(), Error>;

    fn read(text: &str, metrics: Read) -> BTreeMap<String, f64> {
        values("x", |into| metrics(text, into)).unwrap()
    }

    #[test]
    fn perf_bench_is_read() {
        let text = "# Running 'sched/messaging' benchmark:\n# 10 groups == 400 processes run\n\n     Total time: 0.056 [sec]\n\
                    # Running 'sched/pipe' benchmark:\n     Total time: 8.1 [sec]\n\n       8.107 usecs/op\n         123,343 ops/sec\n";
        assert!(knows_perf_bench(text));
        let found = read(text, metrics_of_perf_bench);
        assert_eq!(found["perf bench/sched/messaging/time"], 56_000_000.0);
        assert_eq!(found["perf bench/sched/pipe/operations"], 123_343.0);
    }

    #[test]
    fn sysbench_is_read() {
        let text = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\nNumber of threads: 4\n\n\
                    CPU speed:\n    events per second:  1234.56\n\nGeneral statistics:\n    total time:   10.0005s\n\n\
                    Latency (ms):\n         min:     0.80\n         max:     9.10\n         95th percentile:  1.10\n\nThreads fairness:\n    events (avg/stddev):  1.0/0.0\n";
        assert!(knows_sysbench(text));
        let found = read(text, metrics_of_sysbench);
        assert_eq!(
            (found["sysbench/events/s"], found["sysbench/latency/p95"], found.len()),
            (1234.56, 1_100_000.0, 4)
        );
        let oltp = "sysbench 1.0.20 (using system LuaJIT)\n    transactions:   6125 (612.35 per sec.)\n";
        assert_eq!(read(oltp, metrics_of_sysbench)["sysbench/transactions/s"], 612.35);
    }

    #[test]
    fn sockperf_is_read() {
        let text = "sockperf: [Valid Duration] RunTime=9.550 sec; SentMessages=83946\nsockperf: ====> avg-latency=56.765 (std-dev=46.806)\n\
                    sockperf: Total 83946 observations; each percentile contains 839.46 observations\n\
                    sockperf: ---> <MAX> observation = 1917.502\nsockperf: ---> percentile 99.990 = 1779.618\n";
        assert!(knows_sockperf(text));
        let found = read(text, metrics_of_sockperf);
        assert_eq!(
            (found["sockperf/latency/p99.99"].round(), found["sockperf/latency/avg"]),
            (1_779_618.0, 56_765.0)
        );
    }

    #[test]
    fn networks_are_read() {
        let json = "{\"start\": {\"test_start\": {\"protocol\": \"TCP\", \"num_streams\": 1}}, \"end\": {\"sum_sent\": \
                    {\"seconds\": 10.0, \"bits_per_second\": 8e9, \"retransmits\": 7}}}\n";
        assert!(knows_iperf3(json));
        assert_eq!(read(json, metrics_of_iperf3)["iperf3/tcp/sent/bw"], 1e9);
        let text = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET\nLocal /Remote\nbytes  Bytes  bytes    bytes   secs.    per sec\n\n\
                    16384  131072 1        1       10.00    25555.46\n16384  131072\n";
        assert!(knows_netperf(text));
        assert_eq!(read(text, metrics_of_netperf)["netperf/tcp request response/transactions/s"], 25_555.46);
    }
}
