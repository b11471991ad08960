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
    /// The mean user time, in seconds.
    #[serde(default)]
    pub user: Option<f64>,
    /// The mean system time, in seconds.
    #[serde(default)]
    pub system: Option<f64>,
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

/// Adds the metrics. Only the time decides which of two commands is better; user and system times explain it.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    for benchmark in parse(text)? {
        let name = |what: &str| format!("hyperfine/{}/{what}", benchmark.command);
        let times = benchmark.times.iter();
        times
            .map(|seconds| seconds * 1e9)
            .try_for_each(|time| into.value(&name("time"), Kind::TIME, time))?;
        for (what, seconds) in [("user", benchmark.user), ("system", benchmark.system)] {
            if let Some(seconds) = seconds {
                into.value(&name(what), Kind::TIME, seconds * 1e9)?;
            }
        }
    }
    Ok(())
}
