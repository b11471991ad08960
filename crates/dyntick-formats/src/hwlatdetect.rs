// SPDX-License-Identifier: GPL-2.0-only
//! The output of hwlatdetect (rt-tests 2.x, `src/hwlatdetect/hwlatdetect.py`), which has no machine-readable form.

use crate::Error;
use crate::metrics::{Collector, Kind};
use dyntick_stats::{Better, Exposure};

const TOOL: &str = "hwlatdetect";

/// The result of hwlatdetect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detected {
    /// The longest gap, µs; `None` if none exceeded the threshold.
    pub max: Option<u64>,
    /// The number of samples above the threshold.
    pub exceeding: u64,
    /// The number of system management interrupts during the run, if counted.
    pub smis: Option<u64>,
    /// The threshold, µs.
    pub threshold: Option<u64>,
    /// The duration of the run, seconds.
    pub seconds: Option<f64>,
    /// The watched part of each window, and the window, µs.
    pub sampling: [Option<u64>; 2],
}

impl Detected {
    /// The seconds that were watched: hwlatdetect looks for a part of each window.
    pub fn watched(&self) -> Option<f64> {
        let [width, window] = self.sampling;
        let share = width.zip(window).filter(|(_, window)| *window > 0);
        Some(self.seconds? * share.map_or(1.0, |(width, window)| width as f64 / window as f64))
    }
}

/// Reads the output of completed runs.
pub fn parse(text: &str) -> Result<Vec<Detected>, Error> {
    let (mut runs, mut detected, mut ended) = (Vec::new(), Detected::default(), false);
    for (index, line) in text.lines().enumerate() {
        let Some((label, value)) = line.trim_start().split_once(':') else { continue };
        let (label, value) = (label.trim(), value.trim());
        let number =
            |text: &str| text.trim_end_matches("us").parse().map_err(|_| Error::line(TOOL, index, line));
        match label {
            "hwlatdetect" if value.starts_with("test duration") => {
                if std::mem::take(&mut ended) {
                    runs.push(std::mem::take(&mut detected));
                }
                detected.seconds = value.split_ascii_whitespace().nth(2).and_then(crate::text::number);
            }
            "Latency threshold" => detected.threshold = Some(number(value)?),
            "Sample width" => detected.sampling[0] = Some(number(value)?),
            "Sample window" => detected.sampling[1] = Some(number(value)?),
            "Max Latency" if value == "Below threshold" => detected.max = None,
            "Max Latency" => detected.max = Some(number(value)?),
            "Samples exceeding threshold" => (detected.exceeding, ended) = (number(value)?, true),
            "SMIs during run" => detected.smis = Some(number(value)?),
            _ => {}
        }
    }
    if ended {
        runs.push(detected);
    }
    if runs.is_empty() { Err(Error::Nothing { tool: TOOL }) } else { Ok(runs) }
}

pub(crate) fn knows(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        line.starts_with("hwlatdetect:  test duration") || line.starts_with("Samples exceeding threshold: ")
    })
}

/// Adds the metrics. A maximum below the threshold is left out: it was not measured. Counts become rates, since runs
/// may differ in length, and the threshold is part of their name: others were not counted.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let of_hour = Kind::new("1/h", Better::Lower);
    for run in parse(text)? {
        let watched = run.watched().filter(|seconds| *seconds > 0.0);
        into.watched(Exposure { seconds: watched, ..Exposure::default() });
        if let Some(threshold) = run.threshold {
            into.setting("threshold", &format!("{threshold} µs"));
        }
        if let Some(max) = run.max {
            into.value("hwlatdetect/max", Kind::of_time("max").cut_to(1e3), max as f64 * 1e3)?;
        }
        let above = run.threshold.map_or("threshold".to_owned(), |threshold| format!("{threshold} µs"));
        let name = format!("hwlatdetect/exceeding {above}");
        let count = run.exceeding as f64;
        match watched {
            Some(seconds) => into.value(&format!("{name}/h"), of_hour, count / seconds * 3600.0)?,
            None => into.value(&name, Kind::UNWANTED.growing(), count)?,
        }
        match (run.smis, run.seconds.filter(|seconds| *seconds > 0.0)) {
            (Some(smis), Some(seconds)) => {
                into.value("hwlatdetect/SMIs/h", of_hour, smis as f64 / seconds * 3600.0)?
            }
            (Some(smis), None) => into.value("hwlatdetect/SMIs", Kind::UNWANTED.growing(), smis as f64)?,
            (None, _) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maximum_is_read_only_above_the_threshold() {
        let text = "test finished\nMax Latency: 43us\nSamples recorded: 2\nSamples exceeding threshold: 2\nSMIs during run: 7\n";
        let expected = Detected { max: Some(43), exceeding: 2, smis: Some(7), ..Detected::default() };
        assert_eq!(parse(text).unwrap(), [expected]);
        let below = text.replace("43us", "Below threshold");
        assert_eq!(parse(&below).unwrap()[0].max, None);
        assert_eq!(parse(&text.replace("43us", "x")).unwrap_err(), Error::line(TOOL, 1, "Max Latency: x"));
        assert_eq!(parse("Starting test\n").unwrap_err(), Error::Nothing { tool: TOOL });
    }

    #[test]
    fn watched_time_is_a_part_of_each_window() {
        let run = "hwlatdetect:  test duration 900 seconds\n  Latency threshold: 10us\n  Sample window:  1000000us\n  \
                   Sample width:  500000us\nMax Latency: 43us\nSamples exceeding threshold: 2\n";
        let runs = parse(&(run.to_owned() + run)).unwrap();
        assert_eq!((runs.len(), runs[1].watched(), runs[1].threshold), (2, Some(450.0), Some(10)));
    }
}
