// SPDX-License-Identifier: GPL-2.0-only
//! From a file that some tool printed to named metrics. The tool is recognised by what it printed, never by
//! the file's name.

mod collect;

pub use collect::MAX_METRICS;
pub(crate) use collect::{Collector, Kind};

use crate::text::without_escapes;
use crate::{
    Error, cyclictest, fio, hackbench, hwlatdetect, hyperfine, oslat, perf_stat, qperf, rtla, schbench,
    stress_ng, turbostat,
};
use dyntick_model::Clock;
use dyntick_stats::{Metric, MetricName};

/// The longest output that is read, in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// The most lines of it.
pub const MAX_LINES: usize = 1 << 20;

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Which tool printed it, `fio`.
    pub tool: &'static str,
    /// What was measured, in the order in which it was printed; each name once.
    pub metrics: Vec<(MetricName, Metric)>,
}

/// One tool: how its output is known, and how it is read.
struct Reader {
    tool: &'static str,
    knows: fn(&str) -> bool,
    read: fn(&str, &mut Collector) -> Result<(), Error>,
}

/// All readers; the first that knows an output reads it, so those with the surest marks come first.
const READERS: &[Reader] = &[
    Reader { tool: "fio", knows: fio::knows, read: fio::metrics },
    Reader { tool: "hyperfine", knows: hyperfine::knows, read: hyperfine::metrics },
    Reader { tool: "oslat", knows: oslat::knows, read: oslat::metrics },
    Reader { tool: "cyclictest", knows: cyclictest::knows_json, read: cyclictest::metrics_of_json },
    Reader { tool: "perf stat", knows: perf_stat::knows_json, read: perf_stat::metrics_of_json },
    Reader { tool: "schbench", knows: schbench::knows, read: schbench::metrics },
    Reader { tool: "stress-ng", knows: stress_ng::knows, read: stress_ng::metrics },
    Reader { tool: "rtla", knows: rtla::knows, read: rtla::metrics },
    Reader { tool: "hwlatdetect", knows: hwlatdetect::knows, read: hwlatdetect::metrics },
    Reader { tool: "hackbench", knows: hackbench::knows, read: hackbench::metrics },
    Reader { tool: "turbostat", knows: turbostat::knows, read: turbostat::metrics },
    Reader { tool: "cyclictest", knows: cyclictest::knows, read: cyclictest::metrics },
    Reader { tool: "qperf", knows: qperf::knows, read: qperf::metrics },
    Reader { tool: "perf stat", knows: perf_stat::knows_csv, read: perf_stat::metrics_of_csv },
];

/// What a tool prints for people only, by a mark in it, and how it is asked for what can be read.
const FOR_PEOPLE: &[(&str, &str, &str)] = &[
    ("Performance counter stats for", "perf stat", "run it with -x or -j"),
    (": (groupid=", "fio", "run it with --output-format=json or json+"),
    ("Time (mean ± σ):", "hyperfine", "run it with --export-json FILE and compare that file"),
];

/// Reads what a tool printed. Which clock the runs had is the caller's to say: [`Clock::Wall`] for files of unknown
/// origin. Errors do not name the file; the caller does.
pub fn metrics(bytes: &[u8], clock: Clock) -> Result<Output, Error> {
    let text = text_of(bytes)?;
    let text = without_escapes(text);
    let Some(reader) = READERS.iter().find(|reader| (reader.knows)(&text)) else {
        let printed = FOR_PEOPLE.iter().find(|(mark, ..)| text.contains(mark));
        return Err(match printed {
            Some((_, tool, fix)) => Error::ForPeople { tool, fix },
            None => Error::Unknown { tools: tools() },
        });
    };
    let mut collector = Collector::new(reader.tool, clock);
    (reader.read)(&text, &mut collector)?;
    Ok(Output { tool: reader.tool, metrics: collector.finish()? })
}

/// The names of the tools whose output is read, each once.
pub fn tools() -> Vec<&'static str> {
    let mut names: Vec<&str> = READERS.iter().map(|reader| reader.tool).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn text_of(bytes: &[u8]) -> Result<&str, Error> {
    if bytes.len() > MAX_BYTES {
        return Err(Error::Long { size: bytes.len(), unit: "bytes", limit: MAX_BYTES });
    }
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    if lines > MAX_LINES {
        return Err(Error::Long { size: lines, unit: "lines", limit: MAX_LINES });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| Error::NotText { offset: error.valid_up_to() })?;
    Ok(text.trim_start_matches('\u{feff}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_printed() {
        let read = |bytes: &[u8]| metrics(bytes, Clock::Wall).unwrap_err();
        let unknown = read(b"hello\n");
        assert_eq!(unknown, Error::Unknown { tools: tools() });
        assert!(tools().iter().all(|tool| unknown.to_string().contains(tool)), "{unknown}");
        assert_eq!(read(b""), Error::Unknown { tools: tools() });
        assert_eq!(read(b"ab\xff"), Error::NotText { offset: 2 });
        assert!(matches!(read(&vec![b'x'; MAX_BYTES + 1]), Error::Long { unit: "bytes", .. }));
        assert!(matches!(read(&vec![b'\n'; MAX_LINES + 1]), Error::Long { unit: "lines", .. }));
    }

    #[test]
    fn what_is_for_people_says_how_to_ask() {
        let error =
            metrics(b"\n Performance counter stats for 'true':\n\n 0.5 msec task-clock\n", Clock::Wall);
        assert_eq!(
            error.unwrap_err().to_string(),
            "this is perf stat's human-readable output, which is not read; run it with -x or -j"
        );
    }
}
