// SPDX-License-Identifier: GPL-2.0-only
//! The output of hwlatdetect (rt-tests 2.x, `src/hwlatdetect/hwlatdetect.py`), which has no machine-readable form.

use crate::Error;
use crate::metrics::{Collector, Kind};

const TOOL: &str = "hwlatdetect";

/// The result of hwlatdetect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detected {
    /// The longest gap, µs; `None` if none exceeded the threshold.
    pub max: Option<u64>,
    /// The number of samples above the threshold.
    pub exceeding: u64,
    /// The number of system management interrupts during the run, if counted.
    pub smis: Option<u64>,
}

/// Reads the output of a completed run.
pub fn parse(text: &str) -> Result<Detected, Error> {
    let (mut detected, mut ended) = (Detected::default(), false);
    for (index, line) in text.lines().enumerate() {
        let Some((label, value)) = line.split_once(": ") else { continue };
        let number = |text: &str| text.trim().parse().map_err(|_| Error::line(TOOL, index, line));
        match label {
            "Max Latency" if value.trim() == "Below threshold" => detected.max = None,
            "Max Latency" => detected.max = Some(number(value.trim().trim_end_matches("us"))?),
            "Samples exceeding threshold" => (detected.exceeding, ended) = (number(value)?, true),
            "SMIs during run" => detected.smis = Some(number(value)?),
            _ => {}
        }
    }
    if ended { Ok(detected) } else { Err(Error::Nothing { tool: TOOL }) }
}

pub(crate) fn knows(text: &str) -> bool {
    text.lines().any(|line| {
        line.starts_with("hwlatdetect:  test duration") || line.starts_with("Samples exceeding threshold: ")
    })
}

/// Adds the metrics. A maximum below the threshold is left out: it was not measured.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let Detected { max, exceeding, smis } = parse(text)?;
    if let Some(max) = max {
        into.value("hwlatdetect/max", Kind::TIME, max as f64 * 1e3)?;
    }
    into.value("hwlatdetect/exceeding threshold", Kind::UNWANTED, exceeding as f64)?;
    smis.map_or(Ok(()), |smis| into.value("hwlatdetect/SMIs", Kind::UNWANTED, smis as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maximum_is_read_only_above_the_threshold() {
        let text = "test finished\nMax Latency: 43us\nSamples recorded: 2\nSamples exceeding threshold: 2\nSMIs during run: 7\n";
        assert_eq!(parse(text).unwrap(), Detected { max: Some(43), exceeding: 2, smis: Some(7) });
        let below = text.replace("43us", "Below threshold");
        assert_eq!(parse(&below).unwrap().max, None);
        assert_eq!(parse(&text.replace("43us", "x")).unwrap_err(), Error::line(TOOL, 1, "Max Latency: x"));
        assert_eq!(parse("Starting test\n").unwrap_err(), Error::Nothing { tool: TOOL });
    }
}
