// SPDX-License-Identifier: GPL-2.0-only
//! The output of fio with `--output-format=json` or `json+` (fio 2.1 to 3.x, `stat.c`: `show_thread_status_json`).
//! There may be warnings before and after it, and several documents, each of a run. Of `bw`, in KiB/s, and `bw_bytes`,
//! the exact one is used; fio 2 has only the first. Its latencies are `clat` in µs, since 3.0 `clat_ns`; the number of
//! samples `N` is there since 3.16. With `--client` the jobs of each client and their sum are in `client_stats`.

pub(crate) mod log;
pub(crate) mod terse;

use crate::Error;
use crate::json;
use crate::metrics::{Collector, Kind};
use dyntick_stats::{Exposure, Histogram, Samples};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

const TOOL: &str = "fio";

/// The jobs of one run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Run {
    /// The jobs in their order.
    #[serde(default)]
    pub jobs: Vec<Job>,
    /// The jobs of each client, and their sum, with `--client`.
    #[serde(default)]
    pub client_stats: Vec<Job>,
    /// The options of all jobs.
    #[serde(default, rename = "global options")]
    pub options: BTreeMap<String, Value>,
}

/// One job, or one group of jobs with `--group_reporting`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Job {
    /// The job's name in the job file.
    #[serde(rename = "jobname")]
    pub name: String,
    /// The name of the client that ran it.
    #[serde(default)]
    pub hostname: Option<String>,
    /// The number of its group.
    #[serde(default, rename = "groupid")]
    pub group: u64,
    /// The errno(3) with which it ended; 0 for none.
    #[serde(default)]
    pub error: i64,
    /// The options of the job.
    #[serde(default, rename = "job options")]
    pub options: BTreeMap<String, Value>,
    /// The reads.
    #[serde(default)]
    pub read: Direction,
    /// The writes.
    #[serde(default)]
    pub write: Direction,
    /// The discards.
    #[serde(default)]
    pub trim: Direction,
    /// The calls of fsync(2) and similar functions.
    #[serde(default)]
    pub sync: Direction,
}

/// One direction. A figure that a version does not print is absent, and never 0.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Direction {
    /// The number of operations.
    pub total_ios: Option<u64>,
    /// The bytes of all operations.
    pub io_bytes: Option<f64>,
    /// The operations per second.
    pub iops: Option<f64>,
    /// The bytes per second.
    pub bw_bytes: Option<f64>,
    /// The same in KiB per second.
    pub bw: Option<f64>,
    /// The time, ms.
    pub runtime: Option<f64>,
    slat_ns: Option<Latency>,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
    slat: Option<Latency>,
    clat: Option<Latency>,
    lat: Option<Latency>,
}

/// A latency, in ns; of fio 2 in µs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// The number of samples.
    #[serde(rename = "N")]
    pub count: Option<u64>,
    /// The smallest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// The requested percentiles, by their names (`99.000000`).
    #[serde(rename = "percentile")]
    pub percentiles: BTreeMap<String, f64>,
    /// The complete distribution with json+: fio's bins, by the ns in their middle.
    pub bins: BTreeMap<String, u64>,
}

impl Latency {
    /// Returns true if nothing was measured. Versions without the number of samples print zeros.
    fn is_empty(&self) -> bool {
        match self.count {
            Some(count) => count == 0,
            None => self.min == 0.0 && self.mean == 0.0 && self.max == 0.0,
        }
    }
}

/// Reads the runs in their order.
pub fn parse(text: &str) -> Result<Vec<Run>, Error> {
    json::all(TOOL, text)
}

pub(crate) fn knows(text: &str) -> bool {
    text.contains("\"fio version\"") && json::begin(text, &['{']).is_some()
}

/// The options that say what a job does.
const OPTIONS: [&str; 8] = ["rw", "bs", "iodepth", "numjobs", "ioengine", "direct", "runtime", "size"];

/// Adds the metrics of every job, and of every group with several; fails if a job failed.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    for run in parse(text)? {
        let all = || run.jobs.iter().chain(&run.client_stats);
        if let Some(Job { name, error, .. }) = all().find(|job| job.error != 0) {
            return Err(Error::Failed { tool: TOOL, what: format!("job '{name}' ended with error {error}") });
        }
        let options = all().map(|job| &job.options).chain([&run.options]);
        for (name, value) in options.flatten() {
            if let Some(name) = OPTIONS.iter().find(|known| *known == name) {
                into.setting(name, value.as_str().unwrap_or(&value.to_string()));
            }
        }
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for job in all() {
            let name = job.hostname.as_ref().map_or(job.name.clone(), |host| format!("{host}/{}", job.name));
            let again = seen.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
            let number = if *again > 1 { format!("#{again}") } else { String::new() };
            into.part(&format!("fio/{name}"));
            for (word, direction) in job.used() {
                put(into, &format!("fio/{name}{number}/{word}"), direction)?;
            }
        }
        groups(&run.jobs, into)?;
    }
    Ok(())
}

impl Job {
    /// The directions with at least one operation.
    fn used(&self) -> impl Iterator<Item = (&'static str, &Direction)> {
        let all = [("read", &self.read), ("write", &self.write), ("trim", &self.trim), ("sync", &self.sync)];
        all.into_iter().filter(|(_, direction)| direction.is_used())
    }
}

impl Direction {
    fn is_used(&self) -> bool {
        let moved = self.io_bytes.unwrap_or(0.0) > 0.0 || self.iops.unwrap_or(0.0) > 0.0;
        self.total_ios.map_or(moved, |operations| operations > 0)
    }

    /// The bytes per second.
    fn bandwidth(&self) -> Option<f64> {
        self.bw_bytes.or(self.bw.map(|kib| kib * 1024.0))
    }

    /// The latencies that this version prints, with the ns of their unit.
    fn latencies(&self) -> impl Iterator<Item = (&'static str, &Latency, f64)> {
        let all = [
            ("slat", &self.slat_ns, &self.slat),
            ("clat", &self.clat_ns, &self.clat),
            ("lat", &self.lat_ns, &self.lat),
        ];
        all.into_iter().filter_map(|(word, ns, us)| {
            ns.as_ref()
                .map(|latency| (word, latency, 1.0))
                .or(us.as_ref().map(|latency| (word, latency, 1e3)))
        })
    }
}

fn put(into: &mut Collector, name: &str, direction: &Direction) -> Result<(), Error> {
    let seconds = direction.runtime.map(|ms| ms / 1e3);
    into.watched(Exposure { samples: direction.total_ios, seconds, stopped_early: false });
    // fio only counts and times sync(2).
    if let Some(iops) = direction.iops.filter(|iops| *iops > 0.0) {
        into.value(&format!("{name}/iops"), Kind::RATE, iops)?;
        if let Some(bandwidth) = direction.bandwidth() {
            into.value(&format!("{name}/bw"), Kind::BANDWIDTH, bandwidth)?;
        }
    }
    for (word, latency, unit) in direction.latencies().filter(|(_, latency, _)| !latency.is_empty()) {
        put_latency(into, &format!("{name}/{word}"), latency, unit)?;
    }
    Ok(())
}

fn put_latency(into: &mut Collector, name: &str, latency: &Latency, unit: f64) -> Result<(), Error> {
    let bins = latency.bins.iter().map(|(middle, count)| {
        let middle: u64 = middle.parse().ok()?;
        Some(((middle as f64 * unit) as u64, *count))
    });
    let bins = bins.collect::<Option<Histogram>>();
    let bins =
        bins.ok_or_else(|| Error::json(TOOL, format_args!("a bin of {name} is not a number of ns")))?;
    let max = (latency.max >= 0.0).then_some((latency.max * unit) as u64);
    // A bin is as wide as 1/64 of its value, and stands for its middle: as good as exact.
    into.samples(name, Kind::TIME, Samples { width: Some(1), step: 1, max, ..Samples::from(bins) })?;
    for (word, value) in [("min", latency.min), ("mean", latency.mean), ("max", latency.max)] {
        into.summary(&format!("{name}/{word}"), Kind::of_time(word), value * unit, name)?;
    }
    let mut percentiles: Vec<_> =
        latency.percentiles.iter().filter_map(|(key, ns)| Some((number(key)?, *ns * unit))).collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Shortens percentiles, e.g. to 99.9; fio prints six digits.
    percentiles
        .into_iter()
        .try_for_each(|(share, ns)| into.summary(&format!("{name}/p{share}"), Kind::TIME, ns, name))
}

fn number(key: &str) -> Option<f64> {
    crate::text::number(key).filter(|share| (0.0..=100.0).contains(share))
}

/// Adds the sums of each group. Latencies of several jobs are left out: fio prints no sum of them.
fn groups(jobs: &[Job], into: &mut Collector) -> Result<(), Error> {
    let mut groups: BTreeMap<u64, Vec<&Job>> = BTreeMap::new();
    jobs.iter().for_each(|job| groups.entry(job.group).or_default().push(job));
    into.watched(Exposure::default());
    for (group, jobs) in groups.into_iter().filter(|(_, jobs)| jobs.len() > 1) {
        let mut sums: BTreeMap<&str, (f64, Option<f64>)> = BTreeMap::new();
        for (word, direction) in jobs.iter().flat_map(|job| job.used()) {
            let (iops, bytes) = sums.entry(word).or_insert((0.0, Some(0.0)));
            *iops += direction.iops.unwrap_or(0.0);
            *bytes = bytes.zip(direction.bandwidth()).map(|(sum, bytes)| sum + bytes);
        }
        for (word, (iops, bytes)) in sums.into_iter().filter(|(_, (iops, _))| *iops > 0.0) {
            into.value(&format!("fio/group {group}/{word}/iops"), Kind::RATE, iops)?;
            if let Some(bytes) = bytes {
                into.value(&format!("fio/group {group}/{word}/bw"), Kind::BANDWIDTH, bytes)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;
    use dyntick_model::Clock;
    use dyntick_stats::Values;

    fn read(text: &str) -> Output {
        let mut collector = Collector::new(TOOL, Clock::Wall);
        metrics(text, &mut collector).unwrap();
        collector.finish().unwrap()
    }

    fn values(output: &Output, name: &str) -> Option<Vec<f64>> {
        let (_, metric) = output.metrics.iter().find(|(known, _)| known.as_str() == name)?;
        let Values::Runs(values) = &metric.values else { panic!("{name}") };
        Some(values.clone())
    }

    fn file(jobs: &str) -> String {
        format!("{{\"fio version\": \"fio-x\", {jobs}}}\n")
    }

    #[test]
    fn absent_key_is_never_zero() {
        let old = "\"jobs\": [{\"jobname\": \"j\", \"read\": {\"io_bytes\": 9, \"bw\": 21, \"iops\": 5, \
                   \"slat\": {\"min\": 0, \"max\": 0, \"mean\": 0.0}, \
                   \"clat\": {\"min\": 53, \"max\": 90, \"mean\": 60.5, \"percentile\": {\"99.000000\": 80}}}, \
                   \"write\": {\"io_bytes\": 0, \"bw\": 0, \"iops\": 0}}]";
        let output = read(&file(old));
        assert_eq!(values(&output, "fio/j/read/bw"), Some(vec![21.0 * 1024.0]));
        assert_eq!(values(&output, "fio/j/read/clat/p99"), Some(vec![80_000.0]), "fio 2 counts in µs");
        assert_eq!(values(&output, "fio/j/read/slat/max"), None, "it was not measured");
        assert!(output.metrics.iter().all(|(name, _)| !name.as_str().contains("write")));
        let bare = read(&file("\"jobs\": [{\"jobname\": \"j\", \"read\": {\"total_ios\": 9, \"iops\": 5}}]"));
        assert_eq!((values(&bare, "fio/j/read/bw"), bare.metrics.len()), (None, 1));
    }

    #[test]
    fn clients_and_several_runs_are_read() {
        let job = |host: &str, iops: u32| {
            format!("{{\"jobname\": \"j\", {host} \"read\": {{\"total_ios\": 9, \"iops\": {iops}}}}}")
        };
        let run = |iops: u32| {
            let clients = format!("{}, {}", job("\"hostname\": \"a\",", iops), job("", 2 * iops));
            file(&format!("\"client_stats\": [{clients}]"))
        };
        let output = read(&(run(1) + "Jobs: 2\n" + &run(3)));
        assert_eq!(values(&output, "fio/a/j/read/iops"), Some(vec![1.0, 3.0]));
        assert_eq!(values(&output, "fio/j/read/iops"), Some(vec![2.0, 6.0]));
        assert_eq!(output.metrics.len(), 2, "the sum of all clients is not added to them");
    }
}
