// SPDX-License-Identifier: GPL-2.0-only
//! The output of hackbench (rt-tests 2.x, `src/hackbench/hackbench.c`): some lines about the groups, then
//! `Time: 0.151`, in seconds.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use std::collections::BTreeSet;

const TOOL: &str = "hackbench";

/// One run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The work: names of settings with their values, as far as they were printed above.
    pub work: Vec<(&'static str, String)>,
    /// The time in seconds.
    pub seconds: f64,
}

/// Reads the runs in the output.
pub fn parse(text: &str) -> Result<Vec<Run>, Error> {
    let (mut runs, mut work) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["Running", "in", mode, "mode", "with", groups, "groups", "using", files, ..] => {
                work = vec![("mode", mode), ("groups", groups), ("file descriptors", files)];
            }
            ["Each", "sender", "will", "pass", messages, "messages", "of", bytes, ..] => {
                work.extend([("messages", messages), ("bytes", bytes)]);
            }
            ["Time:", ref time @ ..] => {
                let time = if let [time] = time { number(time) } else { None };
                let seconds = time.filter(|seconds| *seconds >= 0.0);
                let seconds = seconds.ok_or_else(|| Error::line(TOOL, index, line))?;
                runs.push(Run {
                    work: work.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
                    seconds,
                });
            }
            _ => {}
        }
    }
    if runs.is_empty() { Err(Error::Nothing { tool: TOOL }) } else { Ok(runs) }
}

pub(crate) fn knows(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| line.starts_with("Running in ") && line.contains(" groups using "))
        || text.lines().all(|line| line.starts_with("Time: ")) && text.starts_with("Time: ")
}

/// Adds the metrics. Runs of different work in one file are different metrics.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let runs = parse(text)?;
    let works: BTreeSet<&Vec<(&str, String)>> = runs.iter().map(|run| &run.work).collect();
    for run in &runs {
        run.work.iter().for_each(|(name, value)| into.setting(name, value));
        let differing = run.work.iter().filter(|part| works.iter().any(|work| !work.contains(part)));
        let differing: Vec<String> = differing.map(|(name, value)| format!("{value} {name}")).collect();
        let work = if differing.is_empty() { String::new() } else { format!("{}/", differing.join(", ")) };
        into.value(&format!("hackbench/{work}time"), Kind::TIME, run.seconds * 1e9)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Clock;

    #[test]
    fn several_runs_are_read() {
        let runs = parse("Running in process mode with 2 groups using 40\nTime: 0.151\nTime: 1.5\n").unwrap();
        assert_eq!(runs.iter().map(|run| run.seconds).collect::<Vec<_>>(), [0.151, 1.5]);
        assert!(knows("Time: 0.1\nTime: 0.2\n") && !knows("Time: 0.1\nT: 0\n") && !knows(""));
    }

    #[test]
    fn different_work_is_a_different_metric() {
        let run = |groups: u32| {
            format!(
                "Running in threaded mode with {groups} groups using 40 file descriptors each (== 80 tasks)\nTime: 1\n"
            )
        };
        let names = |text: &str| {
            let mut collector = Collector::new(TOOL, Clock::Wall);
            metrics(text, &mut collector).unwrap();
            let output = collector.finish().unwrap();
            output.metrics.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(&(run(2) + &run(2))), ["hackbench/time"]);
        assert_eq!(names(&(run(2) + &run(20))), ["hackbench/2 groups/time", "hackbench/20 groups/time"]);
    }

    #[test]
    fn invalid_output_is_refused() {
        assert_eq!(parse("Running\n").unwrap_err(), Error::Nothing { tool: TOOL });
        assert_eq!(parse("x\nTime: -1\n").unwrap_err(), Error::line(TOOL, 1, "Time: -1"));
    }
}
