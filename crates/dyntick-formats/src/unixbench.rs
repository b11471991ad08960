// SPDX-License-Identifier: GPL-2.0-only
//! The report of UnixBench 5.x (`Run`): for each number of parallel copies the results of its tests, and the index.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_stats::{Better, Exposure};

const TOOL: &str = "UnixBench";

pub(crate) fn knows(text: &str) -> bool {
    text.contains("BYTE UNIX Benchmarks") && text.lines().any(|line| copies(line).is_some())
        || text.contains("System Benchmarks Index Score")
}

/// Reads the results and the index. The index of each test is its result again, divided by a constant.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let mut place = String::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = || Error::line(TOOL, index, line);
        if let Some(count) = copies(line) {
            let several = if count == 1 { "y" } else { "ies" };
            place = format!("{count} cop{several}/");
        } else if line.starts_with("System Benchmarks Index Score") {
            let score = line.split_ascii_whitespace().last().and_then(number).ok_or_else(wrong)?;
            into.watched(Exposure::default());
            let is_partial = if line.contains("Partial") { " (partial)" } else { "" };
            let name = format!("unixbench/{place}index score{is_partial}");
            into.value(&name, Kind::new("", Better::Higher), score)?;
        } else if let Some((name, rest)) =
            line.split_once("  ").filter(|(_, rest)| rest.ends_with(" samples)"))
        {
            let (unit, exposure) = result(rest).ok_or_else(wrong)?;
            let value = rest.split_ascii_whitespace().next().and_then(number).ok_or_else(wrong)?;
            into.watched(exposure);
            let (kind, factor) = match unit {
                "lps" => (Kind::RATE, 1.0),
                "lpm" => (Kind::RATE, 1.0 / 60.0),
                "KBps" => (Kind::BANDWIDTH, 1024.0),
                other => (Kind::new(other, Better::Higher), 1.0),
            };
            into.value(&format!("unixbench/{place}{name}"), kind, value * factor)?;
        }
    }
    Ok(())
}

/// Parses `4 CPUs in system; running 1 parallel copy of tests`.
fn copies(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once(" in system; running ")?;
    rest.split_once(" parallel cop")?.0.parse().ok()
}

/// Parses `35404541.4 lps   (10.0 s, 7 samples)`: the unit and the time of a sample.
fn result(rest: &str) -> Option<(&str, Exposure)> {
    let (figure, about) = rest.split_once('(')?;
    let seconds = number(about.split_once(" s,")?.0);
    let unit = figure.split_ascii_whitespace().nth(1)?;
    Some((unit, Exposure { seconds, ..Exposure::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Clock;
    use dyntick_stats::Values;

    const TEXT: &str = "   BYTE UNIX Benchmarks (Version 5.1.3)\n\n4 CPUs in system; running 4 parallel copies of tests\n\n\
        Double-Precision Whetstone                     4310.1 MWIPS (9.9 s, 7 samples)\n\
        Shell Scripts (8 concurrent)                   1200.0 lpm   (60.0 s, 2 samples)\n\
        File Copy 1024 bufsize 2000 maxblocks        865131.0 KBps  (30.0 s, 2 samples)\n\n\
        System Benchmarks Index Values               BASELINE       RESULT    INDEX\n\
        Double-Precision Whetstone                       55.0       4310.1    783.7\n\
        System Benchmarks Index Score                                        1712.9\n";

    fn read(text: &str) -> Result<Vec<(String, String, f64)>, Error> {
        let mut collector = Collector::new(TOOL, Clock::Wall);
        metrics(text, &mut collector)?;
        let figure =
            |(name, metric): &(dyntick_stats::MetricName, dyntick_stats::Metric)| match &metric.values {
                Values::Runs(values) => (name.to_string(), metric.unit.clone(), values[0]),
                Values::Distribution(_) => panic!(),
            };
        Ok(collector.finish()?.metrics.iter().map(figure).collect())
    }

    #[test]
    fn results_and_index_are_read() {
        assert!(knows(TEXT));
        let found = read(TEXT).unwrap();
        let expected = [
            ("unixbench/4 copies/Double-Precision Whetstone", "MWIPS", 4310.1),
            ("unixbench/4 copies/Shell Scripts (8 concurrent)", "1/s", 20.0),
            ("unixbench/4 copies/File Copy 1024 bufsize 2000 maxblocks", "B/s", 865_131.0 * 1024.0),
            ("unixbench/4 copies/index score", "", 1712.9),
        ];
        assert_eq!(found, expected.map(|(name, unit, value)| (name.to_owned(), unit.to_owned(), value)));
        assert!(matches!(read(&TEXT.replace("4310.1 MWIPS", "- MWIPS")), Err(Error::Line { line: 5, .. })));
    }
}
