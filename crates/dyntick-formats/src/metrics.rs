// SPDX-License-Identifier: GPL-2.0-only
//! Named metrics from the output of any supported tool. The tool is recognised by its output, never by the file's name.

mod collect;

pub use collect::MAX_METRICS;
pub(crate) use collect::{Collector, Kind};

use crate::text::without_escapes;
use crate::{
    Error, benchmarks, cyclictest, fio, hackbench, hwlatdetect, hyperfine, idle_counters, interrupts,
    memtier, oslat, pairs, perf_stat, phoronix, powertop, qperf, redis_benchmark, rteval, rtla, schbench,
    stress_ng, turbostat, unixbench, wrk,
};
use dyntick_model::Clock;
use dyntick_stats::{Metric, MetricName};
use std::collections::{BTreeMap, BTreeSet};

/// The longest output that is read, in bytes: a day of turbostat with an interval of 5 s on 96 CPUs is 172 MB.
pub const MAX_BYTES: usize = 512 << 20;
/// The largest number of lines that is read.
pub const MAX_LINES: usize = 1 << 24;
/// The beginning by which an output is recognised, in bytes; longer ones are searched further only if it shows none.
const HEAD: usize = 1 << 20;

/// The content of an output file.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The name of its tool, e.g. `fio`.
    pub tool: &'static str,
    /// The metrics in their printed order; each name once.
    pub metrics: Vec<(MetricName, Metric)>,
    /// The settings that the file states, each with all of its values.
    pub settings: BTreeMap<&'static str, BTreeSet<String>>,
    /// Notes on what was assumed and on what was not used.
    pub notes: Vec<String>,
    /// The beginnings of names of each benchmark in the file, in its order: `hyperfine/COMMAND`. Empty if the tool does
    /// not name benchmarks.
    pub parts: Vec<String>,
}

/// The facts that an output itself does not state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints<'a> {
    /// The unit of latencies.
    pub unit: Option<cyclictest::Unit>,
    /// The file's name, which alone says if fio's log has latencies or bandwidths.
    pub file: Option<&'a str>,
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
    Reader { tool: "fio", knows: fio::terse::knows, read: fio::terse::metrics },
    Reader { tool: "Phoronix Test Suite", knows: phoronix::knows, read: phoronix::metrics },
    Reader { tool: "hyperfine", knows: hyperfine::knows, read: hyperfine::metrics },
    Reader { tool: "oslat", knows: oslat::knows, read: oslat::metrics },
    Reader { tool: "iperf3", knows: benchmarks::knows_iperf3, read: benchmarks::metrics_of_iperf3 },
    Reader { tool: "memtier_benchmark", knows: memtier::knows_json, read: memtier::metrics_of_json },
    Reader { tool: "rt-tests", knows: pairs::knows_json, read: pairs::metrics_of_json },
    Reader { tool: "cyclictest", knows: cyclictest::knows_json, read: cyclictest::metrics_of_json },
    Reader { tool: "perf stat", knows: perf_stat::knows_json, read: perf_stat::metrics_of_json },
    Reader { tool: "schbench", knows: schbench::knows, read: schbench::metrics },
    Reader { tool: "stress-ng", knows: stress_ng::knows, read: stress_ng::metrics },
    Reader { tool: "rtla", knows: rtla::knows, read: rtla::metrics },
    Reader { tool: "hwlatdetect", knows: hwlatdetect::knows, read: hwlatdetect::metrics },
    Reader { tool: "rteval", knows: rteval::knows, read: rteval::metrics },
    Reader { tool: "sockperf", knows: benchmarks::knows_sockperf, read: benchmarks::metrics_of_sockperf },
    Reader { tool: "netperf", knows: benchmarks::knows_netperf, read: benchmarks::metrics_of_netperf },
    Reader { tool: "sysbench", knows: benchmarks::knows_sysbench, read: benchmarks::metrics_of_sysbench },
    Reader {
        tool: "perf bench",
        knows: benchmarks::knows_perf_bench,
        read: benchmarks::metrics_of_perf_bench,
    },
    Reader { tool: "wrk", knows: wrk::knows, read: wrk::metrics },
    Reader { tool: "redis-benchmark", knows: redis_benchmark::knows, read: redis_benchmark::metrics },
    Reader { tool: "memtier_benchmark", knows: memtier::knows, read: memtier::metrics },
    Reader { tool: "UnixBench", knows: unixbench::knows, read: unixbench::metrics },
    Reader { tool: "powertop", knows: powertop::knows, read: powertop::metrics },
    Reader { tool: "hackbench", knows: hackbench::knows, read: hackbench::metrics },
    Reader {
        tool: "cpupower monitor",
        knows: idle_counters::knows_monitor,
        read: idle_counters::metrics_of_monitor,
    },
    Reader { tool: "idle counters", knows: idle_counters::knows, read: idle_counters::metrics },
    Reader { tool: "/proc/interrupts", knows: interrupts::knows, read: interrupts::metrics },
    Reader { tool: "turbostat", knows: turbostat::knows, read: turbostat::metrics },
    Reader { tool: "cyclictest", knows: cyclictest::knows, read: cyclictest::metrics },
    Reader { tool: "rt-tests", knows: pairs::knows, read: pairs::metrics },
    Reader { tool: "qperf", knows: qperf::knows, read: qperf::metrics },
    Reader { tool: "perf stat", knows: perf_stat::knows_csv, read: perf_stat::metrics_of_csv },
    Reader { tool: "perf stat", knows: perf_stat::knows_people, read: perf_stat::metrics_of_people },
    Reader { tool: "cyclictest", knows: cyclictest::verbose::knows, read: cyclictest::verbose::metrics },
    Reader { tool: "fio", knows: fio::log::knows, read: fio::log::metrics },
];

/// An output that is not read: a text in it, its tool, and how to get a form that is.
struct Unread {
    mark: &'static str,
    tool: &'static str,
    fix: &'static str,
}

const FIO: &str = "run it with --output-format=json or json+";
const PICK: &str = "compare one of its figures with --pattern 'REGEX' or, of JSON, --path PATH";
const SYSSTAT: &str = "compare the output of the workload, or one figure with --pattern 'REGEX'";
const TRACE: &str = "record with dyntick record, and read that with dyntick explain";

const fn unread(mark: &'static str, tool: &'static str, fix: &'static str) -> Unread {
    Unread { mark, tool, fix }
}

/// The outputs that are refused by name. Marks are texts that no other tool of the list prints.
const UNREAD: &[Unread] = &[
    unread(": (groupid=", "fio", FIO),
    unread("Time (mean ± σ):", "hyperfine", "run it with --export-json FILE and compare that file"),
    unread("%c0  GHz", "turbostat (before 4.0)", "run a newer turbostat"),
    unread("%c0   GHz", "turbostat (before 4.0)", "run a newer turbostat"),
    unread("\"rt_test_version", "rt-tests (another program)", PICK),
    unread(
        "<rteval",
        "rteval (summary.xml)",
        "print its report with rteval --summarize FILE, and compare that",
    ),
    unread("jitterdebugger", "jitterdebugger", PICK),
    unread("# tracer: ", "ftrace", TRACE),
    unread("Connecting to host ", "iperf3", "run it with --json"),
    unread("Client connecting to ", "iperf (version 2)", "run iperf3 with --json"),
    unread("PowerTOP", "powertop", "run it with --csv=FILE"),
    unread("Best Rate MB/s", "STREAM", PICK),
    unread("CoreMark", "CoreMark", PICK),
    unread("procs -----------memory", "vmstat", SYSSTAT),
    unread("%usr   %nice", "mpstat", SYSSTAT),
    unread("%usr %system", "pidstat", SYSSTAT),
    unread("avg-cpu:  %user", "iostat", SYSSTAT),
    unread("%user     %nice", "sar", SYSSTAT),
    unread("\t%user\t", "sadf (sysstat)", SYSSTAT),
    unread("\t%idle\t", "sadf (sysstat)", SYSSTAT),
    unread("ATOP - ", "atop", SYSSTAT),
];

/// Files that are no text, by their first bytes.
const BINARY: &[(&[u8], &str)] = &[
    (
        b"\x17\x08\x44tracing",
        "a trace of trace-cmd (trace.dat), and not a tool's output: record with dyntick record, and read that with dyntick \
                         explain",
    ),
    (b"PERFILE2", "perf.data: print it with perf script, or compare the output of perf stat"),
    (b"\x1f\x8b", "compressed with gzip: unpack it with gunzip"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it with unzstd"),
    (b"\xfd7zXZ", "compressed with xz: unpack it with unxz"),
];

/// Reads the output of a tool. The caller knows the clock of the runs: [`Clock::Wall`] for files of unknown origin.
/// Errors do not name the file; the caller does.
pub fn metrics(bytes: &[u8], clock: Clock) -> Result<Output, Error> {
    metrics_of_file(bytes, clock, Hints::default())
}

/// The same, with the facts that the output does not state.
pub fn metrics_of_file(bytes: &[u8], clock: Clock, hints: Hints<'_>) -> Result<Output, Error> {
    let text = text_of(bytes)?;
    let text = without_escapes(text);
    let known_by = |text: &str| READERS.iter().find(|reader| (reader.knows)(text));
    let Some(reader) = head(&text).and_then(known_by).or_else(|| known_by(&text)) else {
        let printed = UNREAD.iter().find(|output| text.contains(output.mark));
        return Err(match printed {
            Some(output) => Error::Unread { tool: output.tool, fix: output.fix },
            None => Error::Unknown { tools: tools() },
        });
    };
    let mut collector = Collector::new(reader.tool, clock).with(hints);
    (reader.read)(&text, &mut collector)?;
    collector.finish()
}

/// The lines at the beginning of a long text.
fn head(text: &str) -> Option<&str> {
    let end = text.as_bytes().get(..HEAD)?.iter().rposition(|byte| *byte == b'\n')?;
    Some(&text[..=end])
}

/// The names of the supported tools, each once.
pub fn tools() -> Vec<&'static str> {
    let mut names: Vec<&str> = READERS.iter().map(|reader| reader.tool).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn text_of(bytes: &[u8]) -> Result<&str, Error> {
    if let Some((_, what)) = BINARY.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        return Err(Error::Binary { what });
    }
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

/// The single values that a reader takes from an output, by metric.
#[cfg(test)]
pub(crate) fn values(
    tool: &'static str,
    read: impl FnOnce(&mut Collector) -> Result<(), Error>,
) -> Result<BTreeMap<String, f64>, Error> {
    let mut collector = Collector::new(tool, Clock::Wall);
    read(&mut collector)?;
    let value = |metric: &Metric| match &metric.values {
        dyntick_stats::Values::Runs(values) => values[0],
        dyntick_stats::Values::Distribution(_) => panic!("{tool}: a distribution"),
    };
    let output = collector.finish()?;
    Ok(output.metrics.iter().map(|(name, metric)| (name.to_string(), value(metric))).collect())
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
        assert!(matches!(read(&vec![b'\n'; MAX_LINES + 1]), Error::Long { unit: "lines", .. }));
    }

    #[test]
    fn unread_output_is_refused_by_name_with_a_fix() {
        let refused = |text: &[u8]| metrics(text, Clock::Wall).unwrap_err().to_string();
        assert_eq!(
            refused(b"job: (groupid=0, jobs=1): err= 0\n"),
            "this is fio's output in a form that is not read; run it with --output-format=json or json+"
        );
        assert!(refused(b"host\t600\t1700000000\tall\t%user\t0.51\n").contains("sadf (sysstat)"));
        assert!(refused(b"PERFILE2\x01\xff").contains("perf.data"));
        assert!(refused(b"\x1f\x8b\x08").contains("gunzip"));
    }

    #[test]
    fn every_mark_is_of_one_tool() {
        for Unread { mark, tool, .. } in UNREAD {
            let first = UNREAD.iter().find(|other| mark.contains(other.mark)).unwrap();
            assert_eq!(first.tool, *tool, "{mark}");
        }
    }
}
