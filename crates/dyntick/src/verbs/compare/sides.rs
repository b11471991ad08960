// SPDX-License-Identifier: GPL-2.0-only
//! What stands behind a side's path: a tool's file, a folder of them, a study's runs.

use crate::output;
use anyhow::{Context, Result, bail};
use dyntick_formats::metrics;
use dyntick_kernels::cache::Cache;
use dyntick_lab::lookup::taken_by_host;
use dyntick_lab::metrics::{Metrics, add, add_run};
use dyntick_lab::seal::Sealer;
use dyntick_lab::store::{self, Distinct};
use dyntick_model::Clock;
use dyntick_stats::compare::Side;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// More files are no repetitions of a measurement.
const MOST_FILES: usize = 10_000;

/// What is read of a side, bytes: many links to one large file are a small archive.
const MOST_BYTES: u64 = 32 << 20;

/// A side, and who made it.
pub struct Known {
    /// What was measured.
    pub side: Side,
    /// Whether this user's laboratory made all runs of it; nothing is known of what tools printed.
    pub made_here: Option<bool>,
    /// In how many of its runs the host took too much time from a CPU that was measured.
    pub disturbed_runs: usize,
}

/// Reads all sides, of which only metrics with one of these words in their names are kept; all where there is none.
pub fn read(sides: &[String], wanted: &[String]) -> Result<Vec<Known>> {
    sides.iter().map(|side| one(side, wanted)).collect()
}

fn one(named: &str, wanted: &[String]) -> Result<Known> {
    let (label, path) = match named.split_once('=') {
        Some((label, path)) if !Path::new(named).exists() => (label, path),
        _ => (named, named),
    };
    let path = Path::new(path);
    let Found { mut metrics, made_here, disturbed_runs } =
        of_path(label, path, wanted).with_context(|| path.display().to_string())?;
    metrics.retain(|name, _| {
        wanted.is_empty() || wanted.iter().any(|word| name.as_str().contains(word.as_str()))
    });
    Ok(Known { side: Side { label: label.to_owned(), metrics }, made_here, disturbed_runs })
}

/// What stands behind a path.
struct Found {
    metrics: Metrics,
    made_here: Option<bool>,
    disturbed_runs: usize,
}

impl Found {
    /// Nothing is known of who ran a tool, and where.
    fn of_tools(metrics: Metrics) -> Self {
        Self { metrics, made_here: None, disturbed_runs: 0 }
    }
}

fn of_path(label: &str, path: &Path, wanted: &[String]) -> Result<Found> {
    if !path.is_dir() {
        return Ok(Found::of_tools(of_file(path)?));
    }
    if path.join("run.toml").exists() {
        return of_runs(label, &[path.to_owned()], wanted, false);
    }
    let runs = path.join("runs");
    if runs.is_dir() {
        let folders = entries(&runs)?.into_iter().filter(|folder| folder.join("run.toml").exists());
        return of_runs(label, &unperturbed(folders)?, wanted, true);
    }
    let mut all = Metrics::new();
    let mut bytes = 0;
    for file in entries(path)?.into_iter().filter(|entry| entry.is_file()) {
        bytes += file.metadata()?.len();
        if bytes > MOST_BYTES {
            bail!("its files have more than {} MiB together; compare fewer of them", MOST_BYTES >> 20);
        }
        let metrics = of_file(&file).with_context(|| file.display().to_string())?;
        metrics.into_iter().for_each(|(name, metric)| add(&mut all, name, metric));
        ensure_few(&all)?;
    }
    if all.is_empty() {
        bail!("it has no output of a known tool, and no run");
    }
    Ok(Found::of_tools(all))
}

/// In the order in which the repetitions of a case happened. Perturbed runs are no sample of anything: they
/// were changed on purpose.
fn unperturbed(folders: impl Iterator<Item = PathBuf>) -> Result<Vec<PathBuf>> {
    let mut distinct = Distinct::default();
    let mut found = Vec::new();
    for (folder, plan) in store::plans(folders) {
        distinct.add(&folder)?;
        let plan = plan?;
        if plan.perturbation.is_none() {
            found.push((plan.repetition, folder));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, folder)| folder).collect())
}

fn of_runs(label: &str, folders: &[PathBuf], wanted: &[String], by_case: bool) -> Result<Found> {
    let mut all = Metrics::new();
    let sealer = Cache::of_user_as_it_is().ok().and_then(|cache| Sealer::known(&cache));
    let (mut others, mut disturbed_runs) = (0, 0);
    let mut disturbed = None;
    let mut known = BTreeMap::new();
    for folder in folders {
        let run = store::load_judged(folder, sealer.as_ref())?;
        // No two runs of one question have one window: on the wall clock by chance, and virtual time is
        // repeated by nobody.
        let identity = (run.plan.fingerprint(), run.plan.repetition, run.outcome.window_ns);
        if let Some(other) = known.insert(identity, folder) {
            bail!("{} and {} are copies: the same run is no repetition", other.display(), folder.display());
        }
        others += usize::from(!run.made_here);
        add_run(&mut all, &run, wanted, by_case);
        ensure_few(&all)?;
        if let Some(taken) = taken_by_host(&run) {
            disturbed_runs += 1;
            disturbed = Some(taken);
        }
    }
    if let Some(taken) = disturbed {
        output::note(format_args!(
            "{label}: a difference may come from the host: it took too much time in {disturbed_runs} of the runs, in \
             the last of these {taken}"
        ));
    }
    if others > 0 {
        output::note(format_args!(
            "{label}: {others} of its runs were not made by this user's laboratory: their figures are unverified"
        ));
    }
    Ok(Found { metrics: all, made_here: Some(others == 0), disturbed_runs })
}

/// Many links to one large run are a small archive, and each number is sorted and drawn from again and again.
fn ensure_few(metrics: &Metrics) -> Result<()> {
    const MOST_METRICS: usize = 10_000;
    if metrics.len() > MOST_METRICS {
        bail!("it has more than {MOST_METRICS} metrics; compare fewer cases or files of it");
    }
    const MOST_NUMBERS: usize = 4 << 20;
    match metrics.values().map(|metric| metric.values.numbers()).sum::<usize>() > MOST_NUMBERS {
        true => bail!("it has more than {MOST_NUMBERS} numbers; compare fewer runs of it"),
        false => Ok(()),
    }
}

/// What is in a folder, by name and without what is hidden.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // A link in a folder that somebody sent leads to files of this machine.
        if !entry.file_name().to_string_lossy().starts_with('.') && !entry.file_type()?.is_symlink() {
            paths.push(entry.path());
        }
        if paths.len() > MOST_FILES {
            bail!("it has more than {MOST_FILES} entries");
        }
    }
    paths.sort();
    Ok(paths)
}

/// On which clock another tool's runs were is not known; those of real time are all that vary.
fn of_file(path: &Path) -> Result<Metrics> {
    let text = dyntick_system::read_named(path, dyntick_formats::MAX_BYTES as u64)?;
    Ok(metrics(text.as_bytes(), Clock::Wall)?.metrics.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_stats::{Better, Metric, MetricName, Values};

    #[test]
    fn a_side_has_some_thousands_of_metrics() {
        let metric = Metric {
            unit: "s".into(),
            better: Better::Lower,
            clock: Clock::Wall,
            values: Values::Runs(vec![1.0]),
        };
        let of = |metrics: usize| -> Metrics {
            let names = (0..metrics).map(|number| MetricName::new(&format!("a{number}")).unwrap());
            names.map(|name| (name, metric.clone())).collect()
        };
        assert!(ensure_few(&of(10_000)).is_ok());
        assert!(ensure_few(&of(10_001)).unwrap_err().to_string().contains("10000 metrics"));
    }

    #[test]
    fn a_side_has_some_millions_of_numbers() {
        let of = |numbers: usize| {
            let values = Values::Runs(vec![1.0; numbers]);
            let metric = Metric { unit: "s".into(), better: Better::Lower, clock: Clock::Wall, values };
            Metrics::from([(MetricName::new("a").unwrap(), metric)])
        };
        assert!(ensure_few(&of(4 << 20)).is_ok());
        assert!(ensure_few(&of((4 << 20) + 1)).unwrap_err().to_string().contains("4194304 numbers"));
    }
}
