// SPDX-License-Identifier: GPL-2.0-only
//! The method of a report: how and on what it was measured, the kernels, and the command that makes it again.

use super::titles::{Titled, Titles, kernel_of};
use super::{distinct, setups};
use crate::few::few;
use dyntick_check::shell;
use dyntick_formats::Observation;
use dyntick_lab::plan::{KernelParts, KernelPatch, Perturbation, Plan};
use dyntick_lab::store::Run;
use dyntick_model::text::shortened;
use dyntick_model::{Clock, Recipe, Spec};
use dyntick_report::Origin;
use dyntick_report::numbers::{self, counted};
use dyntick_study::figure::table::STOLEN_NS;
use std::collections::BTreeSet;

/// The number of missing events, and of notes on one run, that are shown: a real one has a few.
const MOST_MISSING: usize = 32;
const MOST_NOTES: usize = 100;

/// The executor of the guests.
pub fn executor(runs: &[Titled<'_>]) -> (String, String) {
    let executor = |run: &Titled<'_>| format!("QEMU {}, {}", run.plan.qemu, run.plan.accelerator);
    ("executed by".to_owned(), distinct(runs.iter().map(executor).collect()))
}

/// The origin of the runs: clock, executor, kernels and settings.
pub fn provenance(titles: &Titles, runs: &[Titled<'_>]) -> Vec<(String, String)> {
    let all = |value: fn(&Titled<'_>) -> String| distinct(runs.iter().map(value).collect());
    let restless = |run: &Titled<'_>| {
        if run.analysis.outcome.settled.restless.is_empty() {
            "all other CPUs were idle before the window".to_owned()
        } else {
            format!(
                "CPU {} still busy when settle-limit expired ({})",
                run.analysis.outcome.settled.restless,
                run.title()
            )
        }
    };
    let mut pairs = vec![
        ("clock".to_owned(), all(|run| clock(run.plan.case.clock).to_owned())),
        executor(runs),
        ("guest".to_owned(), all(|run| setups::guest(&run.plan.case))),
        ("settling".to_owned(), all(restless)),
        ("trace events".to_owned(), all(trace_state)),
        ("trace events not available".to_owned(), all(|run| missing_events(run))),
    ];
    let of_kernels = kernel_pairs(titles, runs).into_iter().chain(kernel_changes(runs));
    pairs.splice(2..2, of_kernels);
    let disks = runs.iter().map(|run| (run.title_of_all(), run.plan.case.disk));
    pairs.extend(setups::disks(disks).map(|message| ("disk".to_owned(), message)));
    let tools: BTreeSet<&str> =
        runs.iter().flat_map(|run| &run.plan.case.tools).map(String::as_str).collect();
    let hosts: Vec<String> =
        runs.iter().filter_map(|run| Some(run.plan.host.as_ref()?.to_string())).collect();
    if !hosts.is_empty() {
        pairs.insert(2, ("on the machine".to_owned(), distinct(hosts)));
    }
    if !tools.is_empty() {
        let tools: Vec<&str> = tools.into_iter().collect();
        pairs.push(("copied from this machine into the guest".to_owned(), tools.join(", ")));
    }
    let files: BTreeSet<&str> =
        runs.iter().flat_map(|run| run.plan.case.files.keys()).map(String::as_str).collect();
    if !files.is_empty() {
        let files: Vec<&str> = files.into_iter().collect();
        pairs.push(("files of the study in the guest".to_owned(), files.join(", ")));
    }
    pairs.extend(fallbacks(runs));
    pairs.extend(runs.iter().map(|run| (run.title().to_owned(), setups::others(&run.plan.case))));
    let taken = runs.iter().filter_map(|run| Some(format!("{}: {}", run.title(), taken_by_host(run)?)));
    pairs.extend(taken.map(|text| ("time taken by the host".to_owned(), text)));
    let notes = |run: &Titled<'_>| {
        let name = run.title();
        few(run.analysis.outcome.notes.iter().map(|note| format!("{name}: {note}")), MOST_NOTES)
    };
    pairs.extend(runs.iter().flat_map(notes).map(|note| ("note".to_owned(), note)));
    pairs
}

/// Kernels that may be others than their names mean: Debian could not be asked for them.
pub fn fallbacks(runs: &[Titled<'_>]) -> Option<(String, String)> {
    let fallback = |run: &Titled<'_>| {
        let how = run.plan.kernel_fallback.as_ref()?;
        Some(format!("{} ({}) is {how}", run.plan.case.kernel, run.plan.release))
    };
    let message = distinct(runs.iter().filter_map(fallback).collect());
    (!message.is_empty()).then(|| ("not asked of Debian".to_owned(), message))
}

/// The number of perturbed runs, which are not in the tables.
pub fn perturbed<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<(String, String)> {
    let changes: Vec<Perturbation> = runs.filter_map(|run| run.plan.perturbation).collect();
    let most = |of: fn(&Perturbation) -> u64| changes.iter().map(of).max();
    let (padding, shift_ns) = (most(|change| change.padding.into())?, most(|change| change.shift_ns)?);
    let message = format!(
        "{} more, not in the tables: up to {} bytes of padding at the start of the guest's image, the window up to {} \
         later; their figures are with the claims",
        changes.len(),
        numbers::count(padding),
        numbers::duration(shift_ns as f64)
    );
    Some(("perturbed runs".to_owned(), message))
}

/// The share of the window in which the host ran something else while a CPU of the guest was ready, by CPU.
fn taken_by_host(run: &Run) -> Option<String> {
    let (begin, end) = run.analysis.outcome.window_ns;
    let share = |row: &Observation| {
        let percent = 100.0 * row.value / (end - begin).max(1) as f64;
        Some(format!("at most {:.1} % from CPU {}", percent.min(100.0), row.cpu?))
    };
    let rows = run.analysis.observations.named(STOLEN_NS.name);
    let shares: Vec<String> = rows.filter_map(share).collect();
    (!shares.is_empty()).then(|| shares.join(", "))
}

fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::Virtual => {
            "virtual: one instruction is one nanosecond, idle time is skipped, every byte is repeatable; \
             caches, pipelines and real devices are not modelled"
        }
        Clock::Wall => "wall: real time, with all of this machine's noise",
    }
}

fn trace_state(run: &Titled<'_>) -> String {
    let recorded = match &run.plan.case.trace_cpus {
        Some(cpus) => format!("of CPU {cpus} only: "),
        None => String::new(),
    };
    match (run.analysis.lost_events.values().sum::<u64>(), run.analysis.undecoded) {
        (0, 0) => format!("{recorded}none lost, all decoded"),
        (lost, undecoded) => {
            format!("{recorded}{lost} LOST and {undecoded} not decoded in {}", run.title())
        }
    }
}

fn missing_events(run: &Run) -> String {
    let events = if run.analysis.missing_events.is_empty() {
        "none".to_owned()
    } else {
        few(run.analysis.missing_events.iter().cloned(), MOST_MISSING).join(", ")
    };
    format!("{}: {events}", kernel_of(run))
}

/// The number of digits of a hash that are shown.
const HASH_DIGITS: usize = 8;

/// The longest name of a part.
const LONGEST_LIST: usize = 60;

/// One kernel of a report.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    name: String,
    release: String,
    source: String,
    fragments: Vec<String>,
    patches: Vec<String>,
    key: String,
}

/// A line for each kernel. What the second and further ones share with the first is not repeated.
pub fn kernel_pairs(titles: &Titles, runs: &[Titled<'_>]) -> Vec<(String, String)> {
    let kernels = distinct_kernels(titles, runs);
    let is_one = kernels.len() == 1;
    let first = kernels.first().cloned();
    let pair = |(number, kernel): (usize, Shown)| {
        let base = first.as_ref().filter(|_| number > 0);
        let name = if is_one { "kernel".to_owned() } else { format!("kernel {}", kernel.name) };
        (name, kernel.in_words(base))
    };
    kernels.into_iter().enumerate().map(pair).collect()
}

/// The lines of those kernels whose names do not say what they are: built here, or given as a file.
pub fn own_kernel_pairs(titles: &Titles, runs: &[Titled<'_>]) -> Vec<(String, String)> {
    let is_own = |run: &Titled<'_>| {
        run.plan.kernel_parts.is_some()
            || run.plan.case.recipe.is_some()
            || matches!(run.plan.case.kernel.parse(), Ok(Spec::Path(_) | Spec::Built(_)))
    };
    if runs.iter().any(is_own) { kernel_pairs(titles, runs) } else { Vec::new() }
}

/// The changes that were made to images before they booted.
pub fn kernel_changes(runs: &[Titled<'_>]) -> Option<(String, String)> {
    let changed = |run: &Titled<'_>| Some(run.plan.kernel_source.split_once("; ")?.1.to_owned());
    let changes = super::distinct(runs.iter().filter_map(changed).collect());
    (!changes.is_empty()).then(|| ("changed before the boot".to_owned(), changes))
}

fn distinct_kernels(titles: &Titles, runs: &[Titled<'_>]) -> Vec<Shown> {
    let mut all = Vec::new();
    for run in runs {
        let shown = Shown::of(titles.kernel_name(&run.plan.case), &run.plan);
        if !all.contains(&shown) {
            all.push(shown);
        }
    }
    all
}

impl Shown {
    fn of(name: String, plan: &Plan) -> Self {
        let parts = plan.kernel_parts.clone().or_else(|| plan.case.recipe.as_ref().map(of_recipe));
        let parts = parts.unwrap_or_default();
        let source = match plan.case.kernel.parse() {
            // Its folder is no business of those who read the report.
            Ok(Spec::Path(_)) => format!("a file, SHA-256 {}", beginning(&plan.kernel_sha256)),
            _ if !parts.source.is_empty() => parts.source.clone(),
            _ => plan.kernel_source.split("; ").next().unwrap_or_default().to_owned(),
        };
        Self {
            name,
            release: plan.release.to_string(),
            source,
            fragments: parts.config.iter().map(|name| file_name(name)).collect(),
            patches: parts.patches.iter().map(of_patch).collect(),
            key: beginning(&parts.key).to_owned(),
        }
    }

    fn in_words(&self, base: Option<&Self>) -> String {
        let alike = base.filter(|base| (&base.release, &base.source) == (&self.release, &self.source));
        let same = alike.is_some_and(|base| base.fragments == self.fragments);
        let mut words = match alike {
            Some(base) if same => format!("as {}", base.name),
            Some(base) => format!("source as {}", base.name),
            None => format!("{}, {}", self.release, self.source),
        };
        if !same && !self.fragments.is_empty() {
            words += &format!("; fragments {}", self.fragments.join(", "));
        }
        if !self.patches.is_empty() {
            let patches = if self.patches.len() == 1 { "patch" } else { "patches" };
            words += &format!("; {patches} {}", self.patches.join(", "));
        } else if alike.is_some_and(|base| !base.patches.is_empty()) {
            words += "; no patch";
        }
        if !self.key.is_empty() {
            words += &format!("; built as {}", self.key);
        }
        words
    }
}

/// The parts of a kernel that is not built yet, or was before they were kept.
fn of_recipe(recipe: &Recipe) -> KernelParts {
    let patch = |name: &String| KernelPatch { name: name.clone(), files: None, sha256: None };
    let patches = recipe.patches.iter().map(patch).collect();
    KernelParts { config: recipe.config.clone(), patches, ..KernelParts::default() }
}

/// `nofair.patch (1 file, 9f86d081)`
fn of_patch(patch: &KernelPatch) -> String {
    let files = patch.files.map(|files| counted(files as u64, "file"));
    let hash = patch.sha256.as_ref().map(|hash| beginning(hash).to_owned());
    let remarks: Vec<String> = files.into_iter().chain(hash).collect();
    let name = file_name(&patch.name);
    if remarks.is_empty() { name } else { format!("{name} ({})", remarks.join(", ")) }
}

fn file_name(name: &str) -> String {
    shortened(name.rsplit('/').next().unwrap_or_default(), LONGEST_LIST)
}

fn beginning(hash: &str) -> &str {
    hash.get(..HASH_DIGITS).unwrap_or(hash)
}

/// Options that change nothing of what is run, and how many words follow each.
const ELSEWHERE: [(&str, usize); 9] = [
    ("--output", 1),
    ("-o", 1),
    ("--format", 1),
    ("--jobs", 1),
    ("--json", 0),
    ("--brief", 0),
    ("--with-study", 0),
    ("--full", 0),
    ("--quiet", 0),
];

/// The origin of a report of this process.
pub fn origin() -> Origin {
    let program = format!("dyntick {}", crate::VERSION);
    Origin { command: command(), program }
}

/// The command that runs a study again; what was run before it takes from its runs.
pub fn command() -> String {
    command_of(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

fn command_of(words: impl Iterator<Item = String>) -> String {
    let mut command = vec!["dyntick".to_owned()];
    let mut words = words.enumerate();
    while let Some((place, word)) = words.next() {
        let option = word.split_once('=').map_or(word.as_str(), |(option, _)| option);
        match ELSEWHERE.iter().find(|(name, _)| *name == option) {
            Some((_, values)) if !word.contains('=') => (0..*values).for_each(|_| drop(words.next())),
            Some(_) => {}
            // `lab report` is asked of what `lab run` runs.
            None if place == 1 && word == "report" => command.push("run".to_owned()),
            None => command.push(shell::quoted(&word).unwrap_or_else(|_| "…".to_owned())),
        }
    }
    command.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, patches: &[&str], key: &str) -> Shown {
        Shown {
            name: name.into(),
            release: "6.12.117".into(),
            source: "Debian package linux-source-6.12 6.12.117-1".into(),
            fragments: ["lab", "no-hz-full"].map(str::to_owned).to_vec(),
            patches: patches.iter().map(|patch| (*patch).to_owned()).collect(),
            key: key.into(),
        }
    }

    #[test]
    fn a_patched_kernel_is_the_first_one_and_its_patch() {
        let before = kernel("before", &[], "96fa6079");
        let patch = KernelPatch {
            name: "/home/me/nofair.patch".into(),
            files: Some(1),
            sha256: Some("86385b1aff".into()),
        };
        let after = kernel("after", &[&of_patch(&patch)], "86385b1a");
        assert_eq!(
            before.in_words(None),
            "6.12.117, Debian package linux-source-6.12 6.12.117-1; fragments lab, no-hz-full; built as 96fa6079"
        );
        assert_eq!(
            after.in_words(Some(&before)),
            "as before; patch nofair.patch (1 file, 86385b1a); built as 86385b1a"
        );
        assert_eq!(before.in_words(Some(&after)), "as after; no patch; built as 96fa6079");
        let other = Shown { fragments: vec!["lab".into()], ..kernel("other", &["a", "b"], "") };
        assert_eq!(other.in_words(Some(&before)), "source as before; fragments lab; patches a, b");
        assert_eq!(of_patch(&KernelPatch { name: "x.cocci".into(), files: None, sha256: None }), "x.cocci");
    }

    fn command(line: &str) -> String {
        command_of(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn what_is_run_stays_and_how_it_is_printed_goes() {
        assert_eq!(
            command(
                "lab run studies/x.toml --jobs 2 --case idle --out /tmp/x --format=mail --brief --full --with-study"
            ),
            "dyntick lab run studies/x.toml --case idle --out /tmp/x"
        );
        assert_eq!(command("lab report x.toml --full-size --json"), "dyntick lab run x.toml --full-size");
        assert_eq!(command("lab run x.toml -o y.txt --output=z"), "dyntick lab run x.toml");
        assert_eq!(command("lab run a;b.toml"), "dyntick lab run 'a;b.toml'");
    }
}
