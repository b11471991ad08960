// SPDX-License-Identifier: GPL-2.0-only
//! The output of oslat (rt-tests 2.x, `src/oslat/oslat.c`): its table, with a column for each core, or the file of
//! `--json`. Latencies are in µs. The last bucket also counts all longer ones. Averages are left out, because oslat
//! adds the first core's time beyond the last bucket to that of each core.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::rt_tests;
use dyntick_stats::{Histogram, Samples};
use serde::Deserialize;
use std::collections::BTreeMap;

const TOOL: &str = "oslat";

/// One core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Core {
    /// The CPU number.
    pub cpu: u32,
    /// The number of loop iterations by their time in µs.
    pub counts: BTreeMap<u64, u64>,
    /// The shortest time, µs.
    pub min: u64,
    /// The longest time, µs.
    pub max: u64,
}

/// Reads the cores in their order, from either form.
pub fn parse(text: &str) -> Result<Vec<Core>, Error> {
    let cores = if rt_tests::is(text) { json(text)? } else { table(text)? };
    if cores.is_empty() { Err(Error::Nothing { tool: TOOL }) } else { Ok(cores) }
}

pub(crate) fn knows(text: &str) -> bool {
    rt_tests::is(text) && text.contains("\"freq\"")
        || text.contains("Counter Freq:") && text.lines().any(|line| line.trim_start().starts_with("Core:"))
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    for core in parse(text)? {
        into.samples(&format!("oslat/cpu{}/latency", core.cpu), Kind::TIME, core.samples())?;
        into.value(&format!("oslat/cpu{}/max", core.cpu), Kind::TIME, core.max as f64 * 1e3)?;
    }
    Ok(())
}

impl Core {
    /// The samples in ns. The last bucket is exact only if no latency was longer.
    fn samples(&self) -> Samples {
        let last = self.counts.keys().next_back().copied().unwrap_or(0);
        let beyond = self.max > last;
        let counted = self.counts.iter().filter(|(bucket, _)| !beyond || **bucket < last);
        let counts: Histogram =
            counted.map(|(bucket, count)| (bucket.saturating_mul(1000), *count)).collect();
        let overflows = if beyond { self.counts.get(&last).copied().unwrap_or(0) } else { 0 };
        Samples { counts, overflows, max: Some(self.max.saturating_mul(1000)) }
    }
}

#[derive(Deserialize)]
struct Thread {
    cpu: u32,
    min: u64,
    max: u64,
    #[serde(default)]
    histogram: BTreeMap<String, u64>,
}

fn json(text: &str) -> Result<Vec<Core>, Error> {
    let threads = rt_tests::parse::<Thread>(TOOL, text)?.threads;
    let core = |Thread { cpu, min, max, histogram }: Thread| {
        Ok(Core { cpu, min, max, counts: rt_tests::buckets(TOOL, &histogram)? })
    };
    threads.into_values().map(core).collect()
}

fn table(text: &str) -> Result<Vec<Core>, Error> {
    let mut cores: Vec<Core> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some((label, rest)) = line.trim_start().split_once(":\t") else { continue };
        let wrong = || Error::line(TOOL, index, line);
        if label == "Core" {
            let numbers = columns(rest).ok_or_else(wrong)?;
            let core = |cpu: u64| Some(Core { cpu: u32::try_from(cpu).ok()?, ..Core::default() });
            cores = numbers.into_iter().map(core).collect::<Option<_>>().ok_or_else(wrong)?;
        } else if let Some(place) = place(label) {
            let numbers = columns(rest).filter(|numbers| numbers.len() == cores.len()).ok_or_else(wrong)?;
            cores.iter_mut().zip(numbers).for_each(|(core, number)| place.put(core, number));
        }
    }
    Ok(cores)
}

/// The destination of a line's numbers.
enum Place {
    Bucket(u64),
    Min,
    Max,
}

fn place(label: &str) -> Option<Place> {
    match label {
        "Minimum" => Some(Place::Min),
        "Maximum" => Some(Place::Max),
        _ => label.strip_suffix(" (us)")?.parse().ok().map(Place::Bucket),
    }
}

impl Place {
    fn put(&self, core: &mut Core, number: u64) {
        match self {
            Place::Bucket(bucket) => _ = core.counts.insert(*bucket, number),
            Place::Min => core.min = number,
            Place::Max => core.max = number,
        }
    }
}

/// The numbers before the unit or remark in brackets.
fn columns(rest: &str) -> Option<Vec<u64>> {
    let numbers = rest.split_once('(').map_or(rest, |(numbers, _)| numbers);
    numbers.split_ascii_whitespace().map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_bucket_counts_longer_latencies() {
        let core = |max| Core { cpu: 0, counts: [(1, 5), (2, 3)].into(), min: 1, max };
        let samples = core(2).samples();
        assert_eq!((samples.counts.total(), samples.overflows, samples.max), (8, 0, Some(2000)));
        let samples = core(9).samples();
        assert_eq!((samples.counts.total(), samples.overflows, samples.max), (5, 3, Some(9000)));
    }

    #[test]
    fn invalid_output_is_refused() {
        let text = "        Core:\t 0 1\n    001 (us):\t 7\n";
        assert_eq!(parse(text).unwrap_err(), Error::line(TOOL, 1, "    001 (us):\t 7"));
        assert_eq!(parse("").unwrap_err(), Error::Nothing { tool: TOOL });
    }
}
