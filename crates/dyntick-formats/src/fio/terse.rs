// SPDX-License-Identifier: GPL-2.0-only
//! The output of fio with `--minimal` or `--output-format=terse` (HOWTO, "Terse output", versions 3 to 5;
//! `show_ddir_status_terse`): a line for each job, with fields between semicolons. Times are in µs and rates in KiB/s.
//! Versions 4 and 5 add fields for discards, and to those of bandwidth.

use super::TOOL;
use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_stats::Exposure;
use std::collections::BTreeMap;

/// The fields before those of the reads: version, fio's version, job, group, error.
const BEFORE: usize = 5;

/// The percentiles of a direction; unused ones are `0%=0`.
const PERCENTILES: usize = 20;

/// The fields of a direction: size, bandwidth, operations, time; four of each latency; the percentiles; bandwidth.
const fn fields(version: u32) -> usize {
    4 + 3 * 4 + PERCENTILES + if version < 5 { 5 } else { 11 }
}

/// One line.
struct Job<'a> {
    version: u32,
    name: &'a str,
    error: &'a str,
    fields: Vec<&'a str>,
}

pub(crate) fn knows(text: &str) -> bool {
    text.lines().any(|line| job(line).is_some())
}

/// Adds the figures of each job. A job of one name in a further block of lines is a further run.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let mut foreign = 0;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut before: Option<&str> = None;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let Some(job) = job(line) else {
            foreign += 1;
            continue;
        };
        let wrong = || Error::line(TOOL, index, line);
        if job.error != "0" {
            let what = format!("job '{}' ended with error {}", job.name, job.error);
            return Err(Error::Failed { tool: TOOL, what });
        }
        // Jobs of one name (--numjobs) follow one another.
        if before != Some(job.name) {
            seen.remove(job.name);
        }
        before = Some(job.name);
        let again = seen.entry(job.name.to_owned()).and_modify(|count| *count += 1).or_insert(1);
        let number = if *again > 1 { format!("#{again}") } else { String::new() };
        into.part(&format!("fio/{}", job.name));
        let count = if job.version >= 4 { 3 } else { 2 };
        let directions = job.fields.chunks(fields(job.version)).take(count);
        for (word, fields) in ["read", "write", "trim"].into_iter().zip(directions) {
            put(&format!("fio/{}{number}/{word}", job.name), fields, into)?.ok_or_else(wrong)?;
        }
    }
    into.skipped(foreign);
    Ok(())
}

/// The line of a job. Version 2 has no version of fio in it, and other units.
fn job(line: &str) -> Option<Job<'_>> {
    let fields: Vec<&str> = line.trim().split(';').collect();
    let [version, fio, name, _group, error, ..] = fields[..] else { return None };
    let version = version.parse().ok().filter(|version| (3..=5).contains(version))?;
    (fio.starts_with("fio-") && fields.len() > BEFORE).then(|| Job {
        version,
        name,
        error,
        fields: fields[BEFORE..].to_vec(),
    })
}

/// Adds the figures of a direction; `None` if a field is not understood. A line may end early.
fn put(name: &str, fields: &[&str], into: &mut Collector) -> Result<Option<()>, Error> {
    let at = |place: usize| fields.get(place).map_or(Some(None), |field| number(field).map(Some));
    let (Some(size), Some(bandwidth), Some(iops), Some(ms)) = (at(0), at(1), at(2), at(3)) else {
        return Ok(None);
    };
    if size.unwrap_or(0.0) == 0.0 && iops.unwrap_or(0.0) == 0.0 {
        return Ok(Some(()));
    }
    into.watched(Exposure { seconds: ms.map(|ms| ms / 1e3), ..Exposure::default() });
    for (word, kind, value) in
        [("iops", Kind::RATE, iops), ("bw", Kind::BANDWIDTH, bandwidth.map(|kib| kib * 1024.0))]
    {
        if let Some(value) = value {
            into.value(&format!("{name}/{word}"), kind, value)?;
        }
    }
    const LATENCIES: [(&str, usize); 3] = [("slat", 4), ("clat", 8), ("lat", 12 + PERCENTILES)];
    for (latency, place) in LATENCIES {
        let (Some(min), Some(max), Some(mean)) = (at(place), at(place + 1), at(place + 2)) else {
            return Ok(None);
        };
        // What was not measured is printed as zeros.
        if [min, max, mean].iter().all(|value| value.unwrap_or(0.0) == 0.0) {
            continue;
        }
        for (word, us, step) in [("min", min, 1e3), ("mean", mean, 0.0), ("max", max, 1e3)] {
            if let Some(us) = us {
                let kind = Kind::of_time(word).cut_to(step);
                into.value(&format!("{name}/{latency}/{word}"), kind, us * 1e3)?;
            }
        }
    }
    for field in fields.iter().skip(12).take(PERCENTILES) {
        let Some((share, us)) = field.split_once("%=").and_then(|(share, us)| number(share).zip(number(us)))
        else {
            return Ok(None);
        };
        if share > 0.0 {
            into.value(&format!("{name}/clat/p{share}"), Kind::TIME.cut_to(1e3), us * 1e3)?;
        }
    }
    Ok(Some(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Clock;
    use dyntick_stats::Values;

    fn line(job: &str, percentile: &str) -> String {
        let percentiles = format!("{percentile};99.000000%=164;") + &"0%=0;".repeat(18);
        let read = format!(
            "1048576;34952;8738;30000;0;0;0.0;0.0;98;18022;113.9;41.2;{percentiles}98;18023;114.1;41.3;1;2;100.0%;3.0;4.0;"
        );
        let write =
            format!("0;0;0;0;{}{}0;0;0.0;0.0;0;0;0.0%;0.0;0.0", "0;0;0.0;0.0;".repeat(2), "0%=0;".repeat(20));
        format!("3;fio-3.36;{job};0;0;{read}{write};1.0%;2.0%;5;0;1\n")
    }

    fn read(text: &str) -> Result<BTreeMap<String, Vec<f64>>, Error> {
        let mut collector = Collector::new(TOOL, Clock::Wall);
        metrics(text, &mut collector)?;
        let output = collector.finish()?;
        let values = |metric: &dyntick_stats::Metric| match &metric.values {
            Values::Runs(values) => values.clone(),
            Values::Distribution(_) => panic!(),
        };
        Ok(output.metrics.iter().map(|(name, metric)| (name.to_string(), values(metric))).collect())
    }

    #[test]
    fn fields_have_their_places() {
        let text = format!("warning\n{}", line("j", "50.000000%=28"));
        assert!(knows(&text) && !knows("1;2;3\n") && !knows("2;job;0;0;1;2\n"));
        let found = read(&text).unwrap();
        assert_eq!(
            (&found["fio/j/read/iops"][..], &found["fio/j/read/bw"][..], &found["fio/j/read/clat/p99"][..]),
            (&[8738.0][..], &[34952.0 * 1024.0][..], &[164_000.0][..])
        );
        assert_eq!(found["fio/j/read/lat/max"], [18_023_000.0]);
        assert!(found.keys().all(|name| !name.contains("write") && !name.contains("slat")));
    }

    #[test]
    fn lines_of_one_job_are_jobs_and_later_ones_runs() {
        let job = line("j", "50.000000%=28");
        let found = read(&[&job[..], &job, &line("k", "50.000000%=28"), &job].concat()).unwrap();
        assert_eq!((found["fio/j/read/iops"].len(), found["fio/j#2/read/iops"].len()), (2, 1));
    }

    #[test]
    fn short_line_is_read_and_a_wrong_one_refused() {
        assert_eq!(read("3;fio-3.36;j;0;0;9;34952;8738;30000\n").unwrap().len(), 2);
        assert!(matches!(read(&line("j", "x")), Err(Error::Line { line: 1, .. })));
        assert!(matches!(read("3;fio-3.36;j;0;5;9;34952;8738;30000\n"), Err(Error::Failed { .. })));
    }
}
