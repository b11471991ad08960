// SPDX-License-Identifier: GPL-2.0-only
//! The output of oslat (rt-tests 1.9 to 2.x, `src/oslat/oslat.c`): its table, with a column for each core, or the file
//! of `--json`. Latencies are in µs. A row is named by its upper end: `insert_bucket` counts complete buckets and
//! `write_summary` names them with one more, so that row 001 has what took less than 1 µs. The last row also counts all
//! longer ones. Averages are left out, because oslat adds the first core's time beyond the last row to that of each
//! core.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::rt_tests;
use crate::text::number;
use dyntick_stats::{Exposure, Histogram, Samples};
use serde::Deserialize;
use std::collections::BTreeMap;

const TOOL: &str = "oslat";

/// The width of a row, in ns, without `--bucket-width`.
const WIDTH: u64 = 1000;

/// One core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Core {
    /// The CPU number.
    pub cpu: u32,
    /// The number of loop iterations by the upper end of their row, ns.
    pub counts: BTreeMap<u64, u64>,
    /// The width of a row, ns.
    pub width: u64,
    /// The shortest time, µs.
    pub min: u64,
    /// The longest time, µs.
    pub max: u64,
    /// The seconds that it ran.
    pub seconds: Option<f64>,
}

/// Reads the cores of each run, from either form.
pub fn parse(text: &str) -> Result<Vec<Vec<Core>>, Error> {
    let runs = if rt_tests::is(text) { vec![json(text)?] } else { tables(text)? };
    if runs.iter().all(Vec::is_empty) { Err(Error::Nothing { tool: TOOL }) } else { Ok(runs) }
}

pub(crate) fn knows(text: &str) -> bool {
    if rt_tests::is(text) {
        return text.contains("\"freq\"") || rt_tests::program(text) == Some(TOOL);
    }
    let begins = |mark: &str| text.lines().any(|line| line.trim_start().starts_with(mark));
    ["Core:", "core_i:"].iter().any(|mark| begins(mark)) && text.contains(" (us):")
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    rt_tests::put_command(text, into);
    for line in text.lines() {
        let setting = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        match setting {
            Some(("Workload", value)) => into.setting("workload", value),
            Some(("Workload mem", value)) => into.setting("workload mem", value),
            Some(("Thread priority", value)) => into.setting("priority", value),
            _ => {}
        }
    }
    for core in parse(text)?.into_iter().flatten() {
        let samples = core.samples();
        let count = samples.counts.total().saturating_add(samples.overflows);
        into.watched(Exposure { samples: Some(count), seconds: core.seconds, stopped_early: false });
        let latency = format!("oslat/cpu{}/latency", core.cpu);
        into.samples(&latency, Kind::TIME, samples)?;
        let max = Kind::of_time("max").cut_to(1e3);
        into.summary(&format!("oslat/cpu{}/max", core.cpu), max, core.max as f64 * 1e3, &latency)?;
    }
    Ok(())
}

impl Core {
    /// The samples in ns, by the lower ends of their rows. The last row is exact only if no latency was longer.
    fn samples(&self) -> Samples {
        let last = self.counts.keys().next_back().copied().unwrap_or(0);
        let max = self.max.saturating_mul(1000);
        let beyond = max >= last;
        let counted = self.counts.iter().filter(|(row, _)| !beyond || **row < last);
        let counts: Histogram =
            counted.map(|(row, count)| (row.saturating_sub(self.width), *count)).collect();
        let overflows = if beyond { self.counts.get(&last).copied().unwrap_or(0) } else { 0 };
        Samples { counts, width: Some(self.width), step: WIDTH, overflows, max: Some(max), mean: None }
    }
}

#[derive(Deserialize)]
struct Thread {
    cpu: u32,
    min: u64,
    max: u64,
    duration: Option<f64>,
    #[serde(default)]
    histogram: BTreeMap<String, u64>,
}

fn json(text: &str) -> Result<Vec<Core>, Error> {
    let threads = rt_tests::parse::<Thread>(TOOL, text)?.threads;
    let rows = |histogram: &BTreeMap<String, u64>| {
        let row = |(label, count): (&String, &u64)| {
            let end = end_of_row(label);
            end.map(|end| (end, *count))
                .ok_or_else(|| Error::json(TOOL, format_args!("'{label}' is not a bucket")))
        };
        histogram.iter().map(row).collect::<Result<BTreeMap<u64, u64>, Error>>()
    };
    let width = width_option(text).unwrap_or(WIDTH);
    let core = |Thread { cpu, min, max, duration, histogram }: Thread| {
        Ok(Core { cpu, min, max, counts: rows(&histogram)?, width, seconds: duration })
    };
    threads.into_values().map(core).collect()
}

/// The width of a row in ns, from the command line.
fn width_option(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("\"cmdline"))?;
    let mut words = line.split([' ', '=', '"', ',']);
    words.find(|word| *word == "-W" || *word == "--bucket-width")?;
    words.next()?.parse().ok().filter(|width| *width > 0)
}

/// The upper end of a row in ns: `001`, or with `--bucket-width` `001.500`.
fn end_of_row(label: &str) -> Option<u64> {
    number(label).filter(|us| (0.0..1e12).contains(us)).map(|us| (us * 1000.0).round() as u64)
}

/// The tables, each of one run. Other lines are the program's own, or come from its surroundings.
fn tables(text: &str) -> Result<Vec<Vec<Core>>, Error> {
    let mut runs: Vec<Vec<Core>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some((label, rest)) = line.trim_start().split_once(':') else { continue };
        let wrong = || Error::line(TOOL, index, line);
        let Some(place) = place(label) else { continue };
        let numbers = columns(rest).ok_or_else(wrong)?;
        if place == Place::Core {
            let core =
                |cpu: f64| (cpu >= 0.0).then(|| Core { cpu: cpu as u32, width: WIDTH, ..Core::default() });
            runs.push(numbers.into_iter().map(core).collect::<Option<_>>().ok_or_else(wrong)?);
        } else if let Some(cores) = runs.last_mut() {
            if numbers.len() != cores.len() {
                return Err(wrong());
            }
            cores.iter_mut().zip(numbers).for_each(|(core, number)| place.put(core, number));
        }
    }
    for core in runs.iter_mut().flatten() {
        let rows: Vec<u64> = core.counts.keys().copied().collect();
        let nearest = rows.windows(2).map(|pair| pair[1] - pair[0]).min();
        core.width = nearest.filter(|width| *width < WIDTH).unwrap_or(WIDTH);
    }
    Ok(runs)
}

/// The destination of a line's numbers.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Core,
    Row(u64),
    Min,
    Max,
    Duration,
}

fn place(label: &str) -> Option<Place> {
    match label {
        "Core" | "core_i" => Some(Place::Core),
        "Minimum" => Some(Place::Min),
        "Maximum" => Some(Place::Max),
        "Duration" => Some(Place::Duration),
        _ => end_of_row(label.strip_suffix(" (us)")?).map(Place::Row),
    }
}

impl Place {
    fn put(self, core: &mut Core, number: f64) {
        match self {
            Place::Core => {}
            Place::Row(end) => _ = core.counts.insert(end, number as u64),
            Place::Min => core.min = number as u64,
            Place::Max => core.max = number as u64,
            Place::Duration => core.seconds = Some(number),
        }
    }
}

/// The numbers before the unit or remark in brackets.
fn columns(rest: &str) -> Option<Vec<f64>> {
    let numbers = rest.split_once('(').map_or(rest, |(numbers, _)| numbers);
    numbers.split_ascii_whitespace().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_is_named_by_its_upper_end_and_the_last_counts_longer_latencies() {
        let core =
            |max| Core { counts: [(1000, 5), (2000, 3)].into(), min: 1, max, width: 1000, ..Core::default() };
        let samples = core(1).samples();
        assert_eq!((samples.counts.total(), samples.overflows, samples.max), (8, 0, Some(1000)));
        assert_eq!(samples.counts.iter().collect::<Vec<_>>(), [(0, 5), (1000, 3)]);
        let samples = core(9).samples();
        assert_eq!((samples.counts.total(), samples.overflows, samples.max), (5, 3, Some(9000)));
    }

    #[test]
    fn tables_of_every_version_are_read() {
        let of = |head: &str, rows: &str| {
            format!("allowed cpu list: 4-11\n  {head}\n{rows}\n     Maximum:\t 7 9 (us)\n")
        };
        let rows = "    001 (us):\t 5 6\n    002 (us):\t 1 2";
        for head in ["      Core:\t 2 3\n   CPU Freq:\t 1 1 (Mhz)", "core_i:    2 3\n  cpu_mhz:  1 1"] {
            let text = of(head, rows);
            assert!(knows(&text), "{head}");
            let [cores] = &parse(&text).unwrap()[..] else { panic!("{head}") };
            assert_eq!((cores[1].cpu, cores[1].max, cores[1].counts[&2000]), (3, 9, 2));
        }
        let text = of("Core:\t 2 3", "    000.500 (us):\t 5 6\n    001.000 (us):\t 1 2");
        assert_eq!(parse(&(text.clone() + &text)).unwrap().len(), 2, "two runs");
        assert_eq!(parse(&text).unwrap()[0][0].width, 500);
    }

    #[test]
    fn invalid_output_is_refused() {
        let text = "        Core:\t 0 1\n    001 (us):\t 7\n";
        assert_eq!(parse(text).unwrap_err(), Error::line(TOOL, 1, "    001 (us):\t 7"));
        assert_eq!(parse("").unwrap_err(), Error::Nothing { tool: TOOL });
    }
}
