// SPDX-License-Identifier: GPL-2.0-only
//! The sides of a comparison, read from their paths: a tool's file, a folder of such files, or the runs of a study.
//! Runs are read as metrics: a value or a distribution of each run.

use crate::lookup::{figure_of, taken_by_host, unit_of};
use crate::seal::Sealer;
use crate::store::{self, Run, StoreError};
use dyntick_formats::cyclictest::Unit;
use dyntick_formats::picked::{PickError, Picker};
use dyntick_formats::{Hints, metrics_of_file};
use dyntick_kernels::cache::Cache;
use dyntick_model::Clock;
use dyntick_model::text::natural_order;
use dyntick_stats::compare::Side;
use dyntick_stats::{Better, Exposure, Metric, MetricName, Values};
use dyntick_study::figure::{Figure, table};
use dyntick_system::InputError;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A figure that is compared even if it is not named.
struct Usual {
    figure: &'static Figure,
    key: &'static str,
    better: Better,
}

static USUAL: [Usual; 6] = [
    Usual { figure: &table::TICKS_PER_S, key: "", better: Better::Lower },
    Usual { figure: &table::INTERRUPTIONS, key: "", better: Better::Lower },
    Usual { figure: &table::INTERRUPTED_NS, key: "", better: Better::Lower },
    Usual { figure: &table::CONTEXT_SWITCHES, key: "", better: Better::Unknown },
    Usual { figure: &table::SCRIPT_S, key: "", better: Better::Lower },
    Usual { figure: &table::POWER, key: "total", better: Better::Lower },
];

impl Usual {
    fn name(&self) -> String {
        if self.key.is_empty() {
            self.figure.name.to_owned()
        } else {
            format!("{}:{}", self.figure.name, self.key)
        }
    }
}

/// The metrics of some runs.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Each metric, with the values of all runs.
    pub by_name: BTreeMap<MetricName, Metric>,
    /// The metrics that are one value in some runs and a distribution in others; they keep the kind of the first run.
    pub mixed: BTreeSet<MetricName>,
}

impl Metrics {
    /// Adds the metrics of a run: the usual figures, the `wanted` ones, and the output of its tools. `by_case` puts
    /// the case's id before each name, for runs of several cases.
    pub fn add_run(&mut self, run: &Run, wanted: &[String], by_case: bool) {
        let case = if by_case { format!("{}: ", run.plan.case.id) } else { String::new() };
        for (name, metric) in of_run(run, wanted) {
            if let Some(name) = MetricName::new(&format!("{case}{name}")) {
                self.add(name, metric);
            }
        }
    }

    /// Adds the values of a metric to those of the runs before.
    pub fn add(&mut self, name: MetricName, metric: Metric) {
        let Some(known) = self.by_name.get_mut(&name) else {
            self.by_name.insert(name, metric);
            return;
        };
        let before = count_of_runs(&known.values);
        match (&mut known.values, metric.values) {
            (Values::Runs(values), Values::Runs(more)) => values.extend(more),
            (Values::Distribution(values), Values::Distribution(more)) => values.extend(more),
            _ => {
                self.mixed.insert(name);
                return;
            }
        }
        // Exposures stay with their runs, also if only some runs state one.
        let (about, more) = (&mut known.about, metric.about);
        if !(about.exposure.is_empty() && more.exposure.is_empty()) {
            about.exposure.resize(before, Exposure::default());
            about.exposure.extend(more.exposure);
            about.exposure.resize(count_of_runs(&known.values), Exposure::default());
        }
        about.step = about.step.max(more.step);
        about.grows |= more.grows;
    }
}

/// The number of runs.
fn count_of_runs(values: &Values) -> usize {
    match values {
        Values::Runs(values) => values.len(),
        Values::Distribution(runs) => runs.len(),
    }
}

fn of_run(run: &Run, wanted: &[String]) -> Vec<(String, Metric)> {
    let clock = run.plan.case.clock;
    let metric = |unit: &str, better, values| Metric::new(unit, better, clock, values);
    let value = |figure: &str, unit: &str, better| {
        run.analysis.observations.named(figure).next()?;
        let value = figure_of(run, figure, None)?;
        Some((figure.to_owned(), metric(unit, better, Values::Runs(vec![value]))))
    };
    let mut metrics = Vec::new();
    for usual in &USUAL {
        metrics.extend(value(&usual.name(), usual.figure.unit.unwrap_or("1"), usual.better));
    }
    for figure in wanted.iter().filter(|figure| USUAL.iter().all(|usual| usual.name() != **figure)) {
        metrics.extend(value(figure, unit_of(run, figure), Better::Unknown));
    }
    for row in run.analysis.observations.iter().filter(|row| row.figure == table::QPERF.name) {
        let better = if row.unit == "B/s" { Better::Higher } else { Better::Lower };
        let values = Values::Runs(vec![row.value]);
        metrics.push((format!("{}:{}", row.figure, row.key), metric(&row.unit, better, values)));
    }
    if let Some(samples) = run.analysis.latency.as_ref().and_then(|latency| latency.samples()) {
        let values = Values::Distribution(vec![samples]);
        metrics.push(("wake-up latency".to_owned(), metric("ns", Better::Lower, values)));
    }
    let printed = run.analysis.printed.metrics.iter();
    metrics.extend(printed.map(|(name, metric)| (name.to_string(), metric.clone())));
    metrics
}

/// A folder with more files does not hold repetitions of a measurement.
const MOST_FILES: usize = 10_000;

/// The limit of a side's files together, bytes: many links to one large file are a small archive. One is read at a
/// time.
const MOST_BYTES: u64 = 2 << 30;

/// The smallest limit of one file, bytes, on a machine with little memory.
const SMALL: u64 = 16 << 20;

const MOST_METRICS: usize = 10_000;

const MOST_NUMBERS: usize = 4 << 20;

/// A side with its origin.
pub struct KnownSide {
    /// The label and the metrics.
    pub side: Side,
    /// True if this user's laboratory made all of its runs; `None` for the output of tools.
    pub made_here: Option<bool>,
    /// The number of runs in which the host took too much time from a measured CPU.
    pub disturbed_runs: usize,
    /// The settings that its files state, each with all of its values.
    pub settings: Settings,
    /// Digests of its files' contents.
    pub contents: BTreeSet<u64>,
    /// The beginnings of names of each benchmark, in the order of its files.
    pub parts: Vec<String>,
    /// The notes for the user, each with the label.
    pub notes: Vec<String>,
}

/// Settings by name, each with all of its values.
pub type Settings = BTreeMap<String, BTreeSet<String>>;

/// The metrics that are read, and how.
#[derive(Default)]
pub struct Wanted {
    /// Metrics whose name contains one of these words; all if there are none.
    pub words: Vec<String>,
    /// The unit of latencies of files that do not state it.
    pub unit: Option<Unit>,
    /// Figures that are picked out of each file, by their names; if there are any, no tool is recognised.
    pub picks: Vec<Pick>,
    /// True for the output of runs that were made just now: two of them may print the same.
    pub are_runs: bool,
}

/// A figure that is picked out of a file.
pub struct Pick {
    /// The name.
    pub name: String,
    /// The path or pattern.
    pub picker: Picker,
    /// The unit.
    pub unit: String,
    /// The better direction.
    pub better: Better,
}

/// The reason for which a side cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// A folder.
    #[error(transparent)]
    Folder(#[from] std::io::Error),
    /// A file.
    #[error(transparent)]
    Read(#[from] InputError),
    /// The output of a tool.
    #[error(transparent)]
    Output(#[from] dyntick_formats::Error),
    /// A figure that is picked out.
    #[error(transparent)]
    Pick(#[from] PickError),
    /// A run.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file in a folder.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        error: Box<SideError>,
    },
    /// Too many bytes.
    #[error("its files have more than {} MiB together; compare fewer of them", MOST_BYTES >> 20)]
    Large,
    /// A folder of other files.
    #[error("it has no output of a known tool, and no run")]
    Nothing,
    /// The same run twice.
    #[error("{one} and {other} are copies: the same run is no repetition")]
    Copies {
        /// A run.
        one: PathBuf,
        /// The copy.
        other: PathBuf,
    },
    /// Too many metrics.
    #[error("it has more than {MOST_METRICS} metrics; compare fewer cases or files of it")]
    Metrics,
    /// Too many numbers.
    #[error("it has more than {MOST_NUMBERS} numbers; compare fewer runs of it")]
    Numbers,
    /// Too many files.
    #[error("it has more than {MOST_FILES} entries")]
    Entries,
}

/// The metrics at a path, so far.
#[derive(Default)]
struct Found {
    metrics: Metrics,
    made_here: Option<bool>,
    disturbed_runs: usize,
    settings: Settings,
    contents: BTreeSet<u64>,
    parts: Vec<String>,
    notes: Vec<String>,
}

/// Reads the side at a path. Keeps the metrics whose name contains one of the wanted words; all if there are none.
///
/// # Errors
/// A file or run that cannot be read, or more of them than can be compared.
pub fn read(label: &str, path: &Path, wanted: &Wanted) -> Result<KnownSide, SideError> {
    let words = &wanted.words[..];
    let found = if !path.is_dir() {
        let mut found = Found::default();
        found.add_file(label, path, &read_bytes(path)?, wanted)?;
        found
    } else if path.join("run.toml").exists() {
        of_runs(label, &[path.to_owned()], words, false)?
    } else if path.join("runs").is_dir() {
        let folders = entries(&path.join("runs"))?.into_iter();
        let runs = unperturbed(folders.filter(|folder| folder.join("run.toml").exists()))?;
        of_runs(label, &runs, words, true)?
    } else {
        of_folder(label, path, wanted)?
    };
    Ok(found.side(label, words))
}

impl Found {
    /// Adds the runs in a tool's file. The clock of another tool's runs is unknown. Only real time varies, so that it
    /// is assumed.
    fn add_file(&mut self, label: &str, path: &Path, bytes: &[u8], wanted: &Wanted) -> Result<(), SideError> {
        if bytes.len() as u64 > LONG && !wanted.are_runs {
            self.contents.insert(digest(bytes));
        }
        if !wanted.picks.is_empty() {
            let text = std::str::from_utf8(bytes);
            let text = text.map_err(|_| InputError::NotText { path: path.to_owned() })?;
            for pick in &wanted.picks {
                let metric = pick.picker.metric(text, &pick.unit, pick.better, Clock::Wall)?;
                MetricName::new(&pick.name)
                    .into_iter()
                    .for_each(|name| self.metrics.add(name, metric.clone()));
            }
            return Ok(());
        }
        let hints = Hints { unit: wanted.unit, file: path.file_name().and_then(|name| name.to_str()) };
        let output = metrics_of_file(bytes, Clock::Wall, hints)?;
        for part in output.parts {
            if !self.parts.contains(&part) {
                self.parts.push(part);
            }
        }
        output.metrics.into_iter().for_each(|(name, metric)| self.metrics.add(name, metric));
        for (name, values) in output.settings {
            self.settings.entry(name.to_owned()).or_default().extend(values);
        }
        for note in output.notes {
            let note = format!("{label}: {}: {note}", output.tool);
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        Ok(())
    }

    fn side(self, label: &str, wanted: &[String]) -> KnownSide {
        let is_wanted = |name: &MetricName| {
            wanted.is_empty() || wanted.iter().any(|word| name.as_str().contains(word.as_str()))
        };
        let mut notes = self.notes;
        for name in self.metrics.mixed.iter().filter(|name| is_wanted(name)) {
            notes.push(format!(
                "{label}: {name}: some runs have one value, others a distribution; only the kind of the first run is \
                 compared"
            ));
        }
        let mut metrics = self.metrics.by_name;
        metrics.retain(|name, _| is_wanted(name));
        let side = Side { label: label.to_owned(), metrics };
        KnownSide {
            side,
            made_here: self.made_here,
            disturbed_runs: self.disturbed_runs,
            settings: self.settings,
            contents: self.contents,
            parts: self.parts,
            notes,
        }
    }
}

impl KnownSide {
    /// This side with the metrics of one benchmark only, without the benchmark's name in theirs: `hyperfine/time`.
    pub fn of_part(&self, label: &str, part: &str) -> Self {
        let tool = part.split('/').next().unwrap_or(part);
        self.renamed(label, &|name| {
            // Of several jobs of one name the second is `fio/job#2`.
            let rest = name.strip_prefix(part).filter(|rest| rest.starts_with(['/', '#']))?;
            Some(format!("{tool}{rest}"))
        })
    }

    /// This side with the benchmarks named by their positions: `hyperfine/benchmark 1/time`.
    pub fn by_position(&self) -> Self {
        if let [part] = &self.parts[..] {
            return self.of_part(&self.side.label, part);
        }
        self.renamed(&self.side.label, &|name| {
            let rest =
                |part: &String| name.strip_prefix(part.as_str()).filter(|rest| rest.starts_with(['/', '#']));
            let (at, rest) = self.parts.iter().enumerate().find_map(|(at, part)| Some((at, rest(part)?)))?;
            let tool = name.split('/').next().unwrap_or_default();
            Some(format!("{tool}/benchmark {}{rest}", at + 1))
        })
    }

    /// The metrics that get a name, by it.
    fn renamed(&self, label: &str, name: &dyn Fn(&str) -> Option<String>) -> Self {
        let new = |known: &MetricName| name(known.as_str()).and_then(|name| MetricName::new(&name));
        let metrics = self.side.metrics.iter().filter_map(|(known, metric)| {
            let mut metric = metric.clone();
            metric.about.summary_of = metric.about.summary_of.as_ref().and_then(new);
            Some((new(known)?, metric))
        });
        Self {
            side: Side { label: label.to_owned(), metrics: metrics.collect() },
            made_here: self.made_here,
            disturbed_runs: self.disturbed_runs,
            settings: self.settings.clone(),
            contents: BTreeSet::new(),
            parts: Vec::new(),
            notes: self.notes.clone(),
        }
    }
}

/// The length in bytes from which on files are not equal by chance.
const LONG: u64 = 256;

/// Reads the files of a folder, each a run. A link, or a long file with the content of another, is the same run again.
fn of_folder(label: &str, folder: &Path, wanted: &Wanted) -> Result<Found, SideError> {
    let mut found = Found::default();
    let mut size = 0;
    let mut inodes: BTreeMap<(u64, u64), String> = BTreeMap::new();
    let mut contents: BTreeMap<u64, String> = BTreeMap::new();
    let mut copies: Vec<String> = Vec::new();
    for path in entries(folder)?.into_iter().filter(|entry| entry.is_file()) {
        let metadata = path.metadata()?;
        size += metadata.len();
        if size > MOST_BYTES {
            return Err(SideError::Large);
        }
        let in_file = |error| SideError::File { path: path.clone(), error: Box::new(error) };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(same) = inodes.insert((metadata.dev(), metadata.ino()), name.clone()) {
            found.notes.push(format!("{label}: {same} and {name} are one file: counted as one run"));
            continue;
        }
        let bytes = read_bytes(&path).map_err(in_file)?;
        let same = contents.insert(digest(&bytes), name.clone()).filter(|_| !wanted.are_runs);
        if let Some(same) = same {
            let is_long = metadata.len() > LONG;
            if is_long {
                found
                    .notes
                    .push(format!("{label}: {same} and {name} have the same content: counted as one run"));
                continue;
            }
            copies.push(format!("{same} and {name}"));
        }
        found.add_file(label, &path, &bytes, wanted).map_err(in_file)?;
        ensure_few(&found.metrics.by_name)?;
    }
    if found.metrics.by_name.is_empty() {
        return Err(SideError::Nothing);
    }
    if let Some(first) = copies.first() {
        let others = match copies.len() - 1 {
            0 => String::new(),
            others => format!(", and {others} more"),
        };
        found.notes.push(format!(
            "{label}: files have the same content ({first}{others}), and each counts as a run: remove those that are copies"
        ));
    }
    Ok(found)
}

/// Reads a file. Its figures, while they are read, may be a few times as large.
fn read_bytes(path: &Path) -> Result<Vec<u8>, SideError> {
    let limit = (dyntick_system::own_memory() / 8).clamp(SMALL, dyntick_formats::MAX_BYTES as u64);
    Ok(dyntick_system::read_named_bytes(path, limit)?)
}

fn digest(bytes: &[u8]) -> u64 {
    let mut digest = DefaultHasher::new();
    bytes.hash(&mut digest);
    digest.finish()
}

/// The runs in the order of their repetitions. Perturbed runs are not part of the sample: they were changed on
/// purpose.
fn unperturbed(folders: impl Iterator<Item = PathBuf>) -> Result<Vec<PathBuf>, SideError> {
    let mut found = Vec::new();
    for (folder, plan) in store::plans(folders) {
        let plan = plan?;
        if plan.perturbation.is_none() {
            found.push((plan.repetition, folder));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, folder)| folder).collect())
}

fn of_runs(label: &str, folders: &[PathBuf], wanted: &[String], by_case: bool) -> Result<Found, SideError> {
    let sealer = Cache::of_user_as_it_is().ok().and_then(|cache| Sealer::known(&cache));
    let mut found = Found::default();
    let mut others = 0;
    let mut disturbed = None;
    let mut known = BTreeMap::new();
    for folder in folders {
        let run = store::load_judged(folder, sealer.as_ref())?;
        // No two runs of one plan have the same window: on the wall clock by chance, and no run in virtual time is
        // stored twice.
        let identity = (run.plan.fingerprint(), run.plan.repetition, run.analysis.outcome.window_ns);
        if let Some(one) = known.insert(identity, folder) {
            return Err(SideError::Copies { one: one.clone(), other: folder.clone() });
        }
        others += usize::from(!run.made_here);
        found.metrics.add_run(&run, wanted, by_case);
        ensure_few(&found.metrics.by_name)?;
        if let Some(taken) = taken_by_host(&run) {
            found.disturbed_runs += 1;
            disturbed = Some(taken);
        }
    }
    if let Some(taken) = disturbed {
        found.notes.push(format!(
            "{label}: a difference may come from the host: it took too much time in {} of the runs, in the last of \
             these {taken}",
            found.disturbed_runs
        ));
    }
    if others > 0 {
        found.notes.push(format!(
            "{label}: {others} of its runs were not made by this user's laboratory: their figures are unverified"
        ));
    }
    found.made_here = Some(others == 0);
    Ok(found)
}

/// Refuses more numbers than can be compared: each is sorted and drawn from many times.
fn ensure_few(metrics: &BTreeMap<MetricName, Metric>) -> Result<(), SideError> {
    if metrics.len() > MOST_METRICS {
        return Err(SideError::Metrics);
    }
    let numbers: usize = metrics.values().map(|metric| metric.values.numbers()).sum();
    if numbers > MOST_NUMBERS { Err(SideError::Numbers) } else { Ok(()) }
}

/// The entries of a folder by name, numbers as numbers, without hidden ones.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, SideError> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // A link in an untrusted folder leads to files of this machine.
        if !entry.file_name().to_string_lossy().starts_with('.') && !entry.file_type()?.is_symlink() {
            paths.push(entry.path());
        }
        if paths.len() > MOST_FILES {
            return Err(SideError::Entries);
        }
    }
    paths.sort_by(|a, b| natural_order(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_stats::Values;

    #[test]
    fn side_has_some_thousands_of_metrics() {
        let metric = Metric::new("s", Better::Lower, Clock::Wall, Values::Runs(vec![1.0]));
        let of = |metrics: usize| -> BTreeMap<MetricName, Metric> {
            let names = (0..metrics).map(|number| MetricName::new(&format!("a{number}")).unwrap());
            names.map(|name| (name, metric.clone())).collect()
        };
        assert!(ensure_few(&of(10_000)).is_ok());
        assert!(ensure_few(&of(10_001)).unwrap_err().to_string().contains("10000 metrics"));
    }

    #[test]
    fn side_has_some_millions_of_numbers() {
        let of = |numbers: usize| {
            let values = Values::Runs(vec![1.0; numbers]);
            let metric = Metric::new("s", Better::Lower, Clock::Wall, values);
            BTreeMap::from([(MetricName::new("a").unwrap(), metric)])
        };
        assert!(ensure_few(&of(4 << 20)).is_ok());
        assert!(ensure_few(&of((4 << 20) + 1)).unwrap_err().to_string().contains("4194304 numbers"));
    }

    #[test]
    fn metric_of_two_kinds_is_noted() {
        let metric = |values| Metric::new("s", Better::Lower, Clock::Wall, values);
        let name = |text: &str| MetricName::new(text).unwrap();
        let mut found = Found::default();
        found.metrics.add(name("a"), metric(Values::Runs(vec![1.0])));
        found.metrics.add(name("a"), metric(Values::Distribution(Vec::new())));
        found.metrics.add(name("b"), metric(Values::Runs(vec![1.0])));
        let side = found.side("x", &[]);
        assert_eq!(side.side.metrics.len(), 2);
        assert_eq!(side.notes.len(), 1, "{:?}", side.notes);
        assert!(side.notes[0].starts_with("x: a: some runs have one value, others a distribution"));
    }
}
