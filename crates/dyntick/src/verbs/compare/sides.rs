// SPDX-License-Identifier: GPL-2.0-only
//! What stands behind a side's path: a tool's file, a folder of them, a study's runs.

use crate::output;
use anyhow::{Context, Result, bail};
use dyntick_formats::metrics;
use dyntick_lab::cache::Cache;
use dyntick_lab::metrics::{Metrics, add, add_run};
use dyntick_lab::seal::Sealer;
use dyntick_lab::store;
use dyntick_model::Clock;
use dyntick_stats::compare::Side;
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
    let (mut metrics, made_here) =
        of_path(label, path, wanted).with_context(|| format!("compare {}", path.display()))?;
    metrics.retain(|name, _| {
        wanted.is_empty() || wanted.iter().any(|word| name.as_str().contains(word.as_str()))
    });
    Ok(Known { side: Side { label: label.to_owned(), metrics }, made_here })
}

fn of_path(label: &str, path: &Path, wanted: &[String]) -> Result<(Metrics, Option<bool>)> {
    if !path.is_dir() {
        return Ok((of_file(path)?, None));
    }
    if path.join("run.toml").exists() {
        return of_runs(label, vec![path.to_owned()], wanted, false);
    }
    let runs = path.join("runs");
    if runs.is_dir() {
        // Perturbed runs are no sample of anything: they were changed on purpose.
        let is_own = |folder: &PathBuf| !store::asked(folder).is_ok_and(|asked| asked.perturbation.is_some());
        let is_run = |folder: &PathBuf| folder.join("run.toml").exists() && is_own(folder);
        let folders = entries(&runs)?.into_iter().filter(is_run);
        return of_runs(label, folders.collect(), wanted, true);
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
        bail!("there is nothing in it that a tool printed, and no run");
    }
    Ok((all, None))
}

/// One run after the other, in the order in which the repetitions of a case happened.
fn of_runs(
    label: &str,
    mut folders: Vec<PathBuf>,
    wanted: &[String],
    by_case: bool,
) -> Result<(Metrics, Option<bool>)> {
    folders.sort_by_cached_key(|folder| store::asked(folder).map_or(0, |asked| asked.repetition));
    let mut all = Metrics::new();
    let sealer = Cache::of_user().ok().and_then(|cache| Sealer::known(&cache));
    let mut others = 0;
    for folder in folders {
        let run = store::load_judged(&folder, sealer.as_ref())?;
        others += usize::from(!run.made_here);
        add_run(&mut all, &run, wanted, by_case);
        ensure_few(&all)?;
    }
    if others > 0 {
        output::note(format_args!(
            "{label}: {others} of its runs were not made by this user's laboratory: their figures are others' word"
        ));
    }
    Ok((all, Some(others == 0)))
}

/// Many links to one large run are a small archive, and each number is sorted and drawn from again and again.
fn ensure_few(metrics: &Metrics) -> Result<()> {
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
        if !entry.file_name().to_string_lossy().starts_with('.') {
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
