// SPDX-License-Identifier: GPL-2.0-only
//! The output of fio with `--output-format=json` or `json+` (fio 3.x, `stat.c`: `show_thread_status_json`). There may
//! be warnings before and after it. Of `bw`, in KiB/s, and `bw_bytes`, the exact one is used.

use crate::Error;
use crate::json;
use crate::metrics::{Collector, Kind};
use dyntick_stats::{Histogram, Samples};
use serde::Deserialize;
use std::collections::BTreeMap;

const TOOL: &str = "fio";

/// One job, or one group of jobs with `--group_reporting`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Job {
    /// The job's name in the job file.
    #[serde(rename = "jobname")]
    pub name: String,
    /// The number of its group.
    #[serde(default, rename = "groupid")]
    pub group: u64,
    /// The errno(3) with which it ended; 0 for none.
    #[serde(default)]
    pub error: i64,
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

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Direction {
    /// The number of operations.
    #[serde(default)]
    pub total_ios: u64,
    /// The operations per second.
    #[serde(default)]
    pub iops: f64,
    /// The bytes per second.
    #[serde(default)]
    pub bw_bytes: f64,
    /// The time from the job's request to the kernel's acceptance.
    #[serde(default, rename = "slat_ns")]
    pub submission: Latency,
    /// The time from the acceptance to the completion.
    #[serde(default, rename = "clat_ns")]
    pub completion: Latency,
    /// The sum of both.
    #[serde(default, rename = "lat_ns")]
    pub total: Latency,
}

/// A latency, in ns.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Latency {
    /// The number of samples.
    #[serde(default, rename = "N")]
    pub count: u64,
    /// The smallest.
    #[serde(default)]
    pub min: f64,
    /// The mean.
    #[serde(default)]
    pub mean: f64,
    /// The largest.
    #[serde(default)]
    pub max: f64,
    /// The requested percentiles, by their names (`99.000000`).
    #[serde(default, rename = "percentile")]
    pub percentiles: BTreeMap<String, f64>,
    /// The complete distribution with json+: fio's bins, by the ns in their middle.
    #[serde(default)]
    pub bins: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct File {
    jobs: Vec<Job>,
}

/// Reads the jobs in their order.
pub fn parse(text: &str) -> Result<Vec<Job>, Error> {
    Ok(json::first::<File>(TOOL, text)?.jobs)
}

pub(crate) fn knows(text: &str) -> bool {
    text.contains("\"fio version\"") && json::begin(text, &['{']).is_some()
}

/// Adds the metrics of every job, and of every group with several; fails if a job failed.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let jobs = parse(text)?;
    if let Some(Job { name, error, .. }) = jobs.iter().find(|job| job.error != 0) {
        return Err(Error::Failed { tool: TOOL, what: format!("job '{name}' ended with error {error}") });
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for job in &jobs {
        let again = seen.entry(&job.name).and_modify(|count| *count += 1).or_insert(1);
        let number = if *again > 1 { format!("#{again}") } else { String::new() };
        for (word, direction) in job.used() {
            put(into, &format!("fio/{}{number}/{word}", job.name), direction)?;
        }
    }
    groups(&jobs, into)
}

impl Job {
    /// The directions with at least one operation.
    fn used(&self) -> impl Iterator<Item = (&'static str, &Direction)> {
        let all = [("read", &self.read), ("write", &self.write), ("trim", &self.trim), ("sync", &self.sync)];
        all.into_iter().filter(|(_, direction)| direction.total_ios > 0)
    }
}

fn put(into: &mut Collector, name: &str, direction: &Direction) -> Result<(), Error> {
    // fio only counts and times sync(2).
    if direction.iops > 0.0 {
        into.value(&format!("{name}/iops"), Kind::RATE, direction.iops)?;
        into.value(&format!("{name}/bw"), Kind::BANDWIDTH, direction.bw_bytes)?;
    }
    let latencies =
        [("slat", &direction.submission), ("clat", &direction.completion), ("lat", &direction.total)];
    latencies
        .into_iter()
        .try_for_each(|(word, latency)| put_latency(into, &format!("{name}/{word}"), latency))
}

fn put_latency(into: &mut Collector, name: &str, latency: &Latency) -> Result<(), Error> {
    if latency.count == 0 {
        return Ok(());
    }
    let bins =
        latency.bins.iter().map(|(middle, count)| middle.parse().ok().map(|middle: u64| (middle, *count)));
    let bins = bins.collect::<Option<Histogram>>();
    let bins =
        bins.ok_or_else(|| Error::json(TOOL, format_args!("a bin of {name} is not a number of ns")))?;
    let max = (latency.max >= 0.0).then_some(latency.max as u64);
    into.samples(name, Kind::TIME, Samples { counts: bins, overflows: 0, max })?;
    for (word, value) in [("min", latency.min), ("mean", latency.mean), ("max", latency.max)] {
        into.value(&format!("{name}/{word}"), Kind::TIME, value)?;
    }
    let mut percentiles: Vec<_> =
        latency.percentiles.iter().filter_map(|(key, ns)| Some((number(key)?, *ns))).collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Shortens percentiles, e.g. to 99.9; fio prints six digits.
    percentiles
        .into_iter()
        .try_for_each(|(share, ns)| into.value(&format!("{name}/p{share}"), Kind::TIME, ns))
}

fn number(key: &str) -> Option<f64> {
    crate::text::number(key).filter(|share| (0.0..=100.0).contains(share))
}

/// Adds the sums of each group. Latencies of several jobs are left out: fio prints no sum of them.
fn groups(jobs: &[Job], into: &mut Collector) -> Result<(), Error> {
    let mut groups: BTreeMap<u64, Vec<&Job>> = BTreeMap::new();
    jobs.iter().for_each(|job| groups.entry(job.group).or_default().push(job));
    for (group, jobs) in groups.into_iter().filter(|(_, jobs)| jobs.len() > 1) {
        let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for (word, direction) in jobs.iter().flat_map(|job| job.used()) {
            let sum = sums.entry(word).or_default();
            *sum = (sum.0 + direction.iops, sum.1 + direction.bw_bytes);
        }
        for (word, (iops, bytes)) in sums.into_iter().filter(|(_, (iops, _))| *iops > 0.0) {
            into.value(&format!("fio/group {group}/{word}/iops"), Kind::RATE, iops)?;
            into.value(&format!("fio/group {group}/{word}/bw"), Kind::BANDWIDTH, bytes)?;
        }
    }
    Ok(())
}
