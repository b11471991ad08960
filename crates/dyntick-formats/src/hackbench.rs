// SPDX-License-Identifier: GPL-2.0-only
//! The output of hackbench (rt-tests 2.x, `src/hackbench/hackbench.c`): some lines about the groups, then
//! `Time: 0.151`, in seconds.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::text::number;

const TOOL: &str = "hackbench";

/// Reads the times in seconds, one for each run in the output.
pub fn parse(text: &str) -> Result<Vec<f64>, Error> {
    let mut times = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(time) = line.strip_prefix("Time:") else { continue };
        let seconds = number(time.trim()).filter(|seconds| *seconds >= 0.0);
        times.push(seconds.ok_or_else(|| Error::line(TOOL, index, line))?);
    }
    if times.is_empty() { Err(Error::Nothing { tool: TOOL }) } else { Ok(times) }
}

pub(crate) fn knows(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| line.starts_with("Running in ") && line.contains(" groups using "))
        || text.lines().all(|line| line.starts_with("Time: ")) && text.starts_with("Time: ")
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    parse(text)?.into_iter().try_for_each(|seconds| into.value("hackbench/time", Kind::TIME, seconds * 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_are_read() {
        assert_eq!(
            parse("Running in process mode with 2 groups using 40\nTime: 0.151\nTime: 1.5\n").unwrap(),
            [0.151, 1.5]
        );
        assert!(knows("Time: 0.1\nTime: 0.2\n") && !knows("Time: 0.1\nT: 0\n") && !knows(""));
    }

    #[test]
    fn invalid_output_is_refused() {
        assert_eq!(parse("Running\n").unwrap_err(), Error::Nothing { tool: TOOL });
        assert_eq!(parse("x\nTime: -1\n").unwrap_err(), Error::line(TOOL, 1, "Time: -1"));
    }
}
