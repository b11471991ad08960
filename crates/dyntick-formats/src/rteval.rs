// SPDX-License-Identifier: GPL-2.0-only
//! The report of rteval 3.x (`rteval_text.xsl`): statistics of the system and of each core, in µs.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_stats::Exposure;

const TOOL: &str = "rteval";

pub(crate) fn knows(text: &str) -> bool {
    text.lines().any(|line| line.trim().starts_with("rteval (v") && line.contains("report"))
}

/// Adds the metrics. The median of a core is left out where it is 0.0us, a fault of rteval 3.3.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let seconds = text.lines().find_map(run_time);
    let (mut place, mut foreign) = (None, true);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("System:") {
            place = Some("system".to_owned());
        } else if let Some(core) = line.strip_prefix("CPU core ") {
            let number = core.split_ascii_whitespace().next().unwrap_or("");
            place = number.parse::<u32>().ok().map(|cpu| format!("cpu{cpu}"));
        } else if line.starts_with("Statistics:") {
            foreign = false;
            into.watched(Exposure { seconds, ..Exposure::default() });
        } else if let Some(command) = line.strip_prefix("Command: ") {
            into.setting("command", command);
        } else if let Some((label, value)) = line.split_once(':').filter(|_| !foreign) {
            let Some(place) = &place else { continue };
            let value = value.trim();
            let figure =
                || number(value.trim_end_matches("us")).ok_or_else(|| Error::line(TOOL, index, line));
            if label == "Samples" {
                into.watched(Exposure { samples: value.parse().ok(), seconds, stopped_early: false });
                continue;
            }
            let (word, step) = match label {
                "Mean" => ("mean", 0.0),
                "Median" if value != "0.0us" => ("median", 1e3),
                "Min" => ("min", 1e3),
                "Max" => ("max", 1e3),
                "Std.dev" => ("deviation", 0.0),
                _ => continue,
            };
            into.value(&format!("rteval/{place}/{word}"), Kind::of_time(word).cut_to(step), figure()? * 1e3)?;
        } else if line.is_empty() {
            foreign = true;
        }
    }
    Ok(())
}

/// Parses `Run time:     0 days 0h 10m 4s`.
fn run_time(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.trim().strip_prefix("Run time:")?.split_ascii_whitespace().collect();
    let [days, "days", hours, minutes, seconds] = words[..] else { return None };
    let part = |word: &str, unit: char| word.trim_end_matches(unit).parse::<f64>().ok();
    Some(
        part(days, 'd')? * 86400.0
            + part(hours, 'h')? * 3600.0
            + part(minutes, 'm')? * 60.0
            + part(seconds, 's')?,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Clock;
    use dyntick_stats::Values;

    #[test]
    fn statistics_of_system_and_cores_are_read() {
        let of = |place: &str, max: u32, median: &str| {
            format!(
                "          {place}\n          Statistics:\n            Samples:           480\n            Mean:              5.5us\n            Median:            {median}us\n            Max:               {max}us\n\n"
            )
        };
        let text = format!(
            "   rteval (v3.3) report\n   Run time:     0 days 0h 10m 4s\n\n{}{}",
            of("System:", 256, "5"),
            of("CPU core 0       Priority: 95", 77, "0.0")
        );
        assert!(knows(&text));
        let mut collector = Collector::new(TOOL, Clock::Wall);
        metrics(&text, &mut collector).unwrap();
        let output = collector.finish().unwrap();
        let names: Vec<&str> = output.metrics.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "rteval/system/mean",
                "rteval/system/median",
                "rteval/system/max",
                "rteval/cpu0/mean",
                "rteval/cpu0/max"
            ]
        );
        let (_, max) = &output.metrics[2];
        assert_eq!(max.values, Values::Runs(vec![256_000.0]));
        let expected = Exposure { samples: Some(480), seconds: Some(604.0), stopped_early: false };
        assert_eq!((max.about.grows, &max.about.exposure[..]), (true, &[expected][..]));
    }
}
