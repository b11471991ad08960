// SPDX-License-Identifier: GPL-2.0-only
//! Named metrics from the output of any supported tool. The tool is recognised by its output, never by the file's name.

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
/// The largest number of lines that is read.
pub const MAX_LINES: usize = 1 << 20;

/// The content of an output file.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The name of its tool, e.g. `fio`.
    pub tool: &'static str,
    /// The metrics in their printed order; each name once.
    pub metrics: Vec<(MetricName, Metric)>,
}

/// One tool: its name, and the functions that recognise and read its output.
struct Reader {
    tool: &'static str,
    knows: fn(&str) -> bool,
    read: fn(&str, &mut Collector) -> Result<(), Error>,
}

/// All readers. The first that recognises an output reads it, so those with the surest marks come first.
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

/// A human-readable output: a text in it, its tool, and how to get a readable form.
struct ForPeople {
    mark: &'static str,
    tool: &'static str,
    fix: &'static str,
}

const FOR_PEOPLE: &[ForPeople] = &[
    ForPeople { mark: "Performance counter stats for", tool: "perf stat", fix: "run it with -x or -j" },
    ForPeople { mark: ": (groupid=", tool: "fio", fix: "run it with --output-format=json or json+" },
    ForPeople {
        mark: "Time (mean ± σ):",
        tool: "hyperfine",
        fix: "run it with --export-json FILE and compare that file",
    },
];

/// Reads the output of a tool. The caller knows the clock of the runs: [`Clock::Wall`] for files of unknown origin.
/// Errors do not name the file; the caller does.
pub fn metrics(bytes: &[u8], clock: Clock) -> Result<Output, Error> {
    let text = text_of(bytes)?;
    let text = without_escapes(text);
    let Some(reader) = READERS.iter().find(|reader| (reader.knows)(&text)) else {
        let printed = FOR_PEOPLE.iter().find(|output| text.contains(output.mark));
        return Err(match printed {
            Some(output) => Error::ForPeople { tool: output.tool, fix: output.fix },
            None => Error::Unknown { tools: tools() },
        });
    };
    let mut collector = Collector::new(reader.tool, clock);
    (reader.read)(&text, &mut collector)?;
    Ok(Output { tool: reader.tool, metrics: collector.finish()? })
}

/// The names of the supported tools, each once.
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
    fn output_of_no_tool_is_refused() {
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
    fn human_readable_output_is_refused_with_a_fix() {
        let error =
            metrics(b"\n Performance counter stats for 'true':\n\n 0.5 msec task-clock\n", Clock::Wall);
        assert_eq!(
            error.unwrap_err().to_string(),
            "this is perf stat's human-readable output, which is not read; run it with -x or -j"
        );
    }
}
