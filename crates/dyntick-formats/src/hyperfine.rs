// SPDX-License-Identifier: GPL-2.0-only
//! The export of hyperfine (`--export-json`, version 1.x): the wall time of each run of each command, in seconds.

use crate::Error;
use crate::json;
use crate::metrics::{Collector, Kind};
use serde::Deserialize;

const TOOL: &str = "hyperfine";

/// One command.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Benchmark {
    /// The command, or its `--command-name`.
    pub command: String,
    /// The wall time of each run, in seconds; absent with some `--style`s of older versions.
    #[serde(default)]
    pub times: Vec<f64>,
    /// The exit status of each run; null for a run that a signal ended.
    #[serde(default)]
    pub exit_codes: Vec<Option<i64>>,
}

#[derive(Deserialize)]
struct File {
    results: Vec<Benchmark>,
}

/// Reads the commands in their order.
pub fn parse(text: &str) -> Result<Vec<Benchmark>, Error> {
    Ok(json::first::<File>(TOOL, text)?.results)
}

pub(crate) fn knows(text: &str) -> bool {
    json::begin(text, &['{']).is_some()
        && text.contains("\"results\"")
        && text.contains("\"times\"")
        && text.contains("\"command\"")
}

/// Adds the times of the runs. User and system times are left out: they are means, of which nothing shows the spread.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    for benchmark in parse(text)? {
        let failed = benchmark.exit_codes.iter().filter(|code| **code != Some(0)).count();
        if failed > 0 {
            let what = format!("{failed} runs of '{}' did not end with status 0", benchmark.command);
            return Err(Error::Failed { tool: TOOL, what });
        }
        into.part(&format!("hyperfine/{}", benchmark.command));
        let name = format!("hyperfine/{}/time", benchmark.command);
        benchmark.times.iter().try_for_each(|seconds| into.value(&name, Kind::TIME, seconds * 1e9))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Clock;

    #[test]
    fn failed_runs_are_refused() {
        let file = |codes: &str| {
            format!("{{\"results\": [{{\"command\": \"a\", \"times\": [1.5], \"exit_codes\": [{codes}]}}]}}")
        };
        let read = |codes: &str| metrics(&file(codes), &mut Collector::new(TOOL, Clock::Wall));
        assert!(read("0").is_ok());
        for codes in ["1", "null"] {
            assert!(matches!(read(codes), Err(Error::Failed { .. })), "{codes}");
        }
    }
}
