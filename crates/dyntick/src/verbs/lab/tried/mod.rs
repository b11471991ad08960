// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab try`: what a patch does. A kernel is built without it and with it, both run the cases of the suites for
//! what it touches, and their figures are compared.

mod input;
pub mod page;
pub mod suites;

use super::outcome::{Format, Printing};
use super::own_binary;
use crate::output;
use crate::progress::Display;
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_contract::lab::{Outcome, Tried, TriedFailure, TriedOn};
use dyntick_kernels::build::{self, BuildError, Built, PatchError, build, sizes};
use dyntick_kernels::cache::Cache;
use dyntick_lab::judgement::Judgement;
use dyntick_lab::lab::{CaseResult, Fault, Place};
use dyntick_lab::study::Accepted;
use dyntick_lab::tried::{BASE, PATCHED, effects, new_lines};
use dyntick_model::Recipe;
use dyntick_report::Document;
use dyntick_study::{Given, Size, Study, shipped};
use input::{Base, Input};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use suites::Suite;

/// The arguments of `dyntick lab try`.
#[derive(Args)]
#[command(after_help = "\
The answer comes first: whether the patched kernel builds, boots and stays
silent, and which figures differ by more than irrelevant changes make them.
Exit status 1: it does not apply, does not build, fails or warns.

Examples:
  dyntick lab try fix.mbox          against Debian's 6.12
  dyntick lab try ./series/ --base ~/linux@v6.12
                                    a folder of patches, on a tag of your tree
  dyntick lab try topic --base ~/linux@v6.12 --suite idle --format mail
                                    the commits of a branch, as a mail
  dyntick lab try fix.mbox --across debian:6.12,debian:sid")]
pub struct Arguments {
    /// Patches: a mail or mbox, a diff, a semantic patch, a folder of them, or with a tree as base a range of commits
    #[arg(value_name = "PATCH", required = true)]
    patches: Vec<String>,
    /// The kernel to change: debian:6.12, the folder of a tree, or TREE@REVISION of its git repository
    #[arg(long, default_value = "debian:6.12", value_name = "SOURCE")]
    base: String,
    /// Try them on each of these kernels, one after the other
    #[arg(long, value_delimiter = ',', value_name = "SOURCE,…", conflicts_with = "base")]
    across: Vec<String>,
    /// Fragments of the configuration, or a complete one by its path
    #[arg(long, value_delimiter = ',', default_value = "lab,no-hz-full,ipv6", value_name = "NAME,…")]
    config: Vec<String>,
    /// Run these suites (tick, entry, wake-up, idle), or the cases of a study by its file [default: by the files that
    /// the patches change]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…|FILE")]
    suite: Vec<String>,
    /// Give the guests the idle states of this machine: see `dyntick lab machines`, or a path
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Run N guests at a time [default: the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Write patches, runs and study to DIR [default: out/try]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    printing: Printing,
}

/// The most lines of a mail.
const OF_A_MAIL: usize = 60;
/// The most lines of a page without `--full`.
const OF_A_PAGE: usize = 40;

/// Tries the patches on each kernel.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.printing.target.ensure_writable()?;
    let bases = match &arguments.across[..] {
        [] => vec![Base::of(&arguments.base)?],
        several => several.iter().map(|base| Base::of(base)).collect::<Result<_>>()?,
    };
    let input = Input::read(&arguments.patches, &bases[0])?;
    input.series.notes.iter().for_each(output::note);
    let names = if bases.len() == 1 { vec![arguments.base.clone()] } else { arguments.across.clone() };
    let mut tried = Tried {
        title: input.series.title.clone(),
        patches: input.files.iter().map(|file| file.name.clone()).collect(),
        stated: input.series.stated(),
        functions: input.series.functions(),
        bases: Vec::new(),
    };
    for (base, name) in bases.iter().zip(names) {
        tried.bases.push(Trial::of(arguments, &input, base, name)?.run()?);
    }
    let printing = &arguments.printing;
    let is_full = printing.full || printing.format() == Format::Html;
    let height = |page: &Document| printing.height(page);
    let lines = if printing.format() == Format::Mail { OF_A_MAIL } else { OF_A_PAGE };
    let document = if is_full { page::full(&tried) } else { page::short(&tried, lines, height) };
    printing.print(&document, &tried)?;
    Ok(ExitCode::from(u8::from(tried.bases.iter().any(|base| base.outcome.is_fault()))))
}

/// The cases that are run.
enum Cases {
    /// The cases of a study of the user's.
    Own(PathBuf),
    /// The cases of suites.
    Of(BTreeSet<Suite>),
}

impl Cases {
    fn of(arguments: &Arguments, input: &Input) -> Result<Self> {
        Ok(match &arguments.suite[..] {
            [] => Self::Of(suites::of(&input.changed())),
            [own] if own.contains('/') || own.ends_with(".toml") => Self::Own(own.into()),
            names => Self::Of(Suite::named(names)?),
        })
    }
}

/// The patches on one kernel.
struct Trial<'a> {
    arguments: &'a Arguments,
    input: &'a Input,
    cases: Cases,
    /// The base as it was named.
    name: String,
    /// The recipes of the kernel without and with the patches.
    recipes: [Recipe; 2],
    place: Place,
    cache: Cache,
}

impl<'a> Trial<'a> {
    /// Writes the patches into the folder, where the kernel is built from them.
    fn of(arguments: &'a Arguments, input: &'a Input, base: &Base, name: String) -> Result<Self> {
        let cases = Cases::of(arguments, input)?;
        let place = Place::of(arguments.out.as_deref(), "try");
        let folder = std::path::absolute(place.folder())?.join("patches");
        dyntick_system::make_folders(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut patches = Vec::new();
        for file in &input.files {
            let path = folder.join(&file.name);
            write(&path, &file.text)?;
            patches.push(path.display().to_string());
        }
        let plain =
            Recipe { source: base.source.clone(), config: arguments.config.clone(), patches: Vec::new() };
        let recipes = [plain.clone(), Recipe { patches, ..plain }];
        Ok(Self { arguments, input, cases, name, recipes, place, cache: Cache::of_user()? })
    }

    fn run(&self) -> Result<TriedOn> {
        // A patch that does not apply is refused before anything is compiled.
        let both: Vec<&Recipe> = self.recipes.iter().collect();
        let mut fuzz = Vec::new();
        if let Err((_, error)) = build::ensure_all(&both, &self.cache, &|text| output::step(text)) {
            match self.fitted(&error)? {
                Some(fuzzy) => fuzz = fuzzy,
                None => return self.not_built(error),
            }
        }
        let base = self.build(BASE, &self.recipes[0])?;
        let patched = match self.build(PATCHED, &self.recipes[1]) {
            Ok(patched) => patched,
            Err(error) => return self.not_built(error).map(|on| TriedOn { fuzz, ..on }),
        };
        let (file, study) = self.study(&base, &patched)?;
        let display = Display::new();
        let watch = |progress| display.show(progress);
        let jobs = self.arguments.jobs.map_or_else(cores, usize::from);
        let accepted = Accepted::of(&study, &file, &self.place, &watch)?;
        let judgement = accepted.open(own_binary()?, None)?.run(jobs)?;
        display.end();
        self.judged(&judgement, &base, &patched).map(|on| TriedOn { fuzz, ..on })
    }

    /// Replaces patches with hunks that do not fit by ones that do, if only their surroundings differ. Returns these
    /// hunks; none if they do not fit in this way either.
    fn fitted(&self, error: &BuildError) -> Result<Option<Vec<String>>> {
        if !matches!(error, BuildError::Patch(PatchError::Fits { .. })) {
            return Ok(None);
        }
        let Ok(fitted) = build::fitted(&self.recipes[1], &self.cache, &|text| output::step(text)) else {
            return Ok(None);
        };
        for (path, patch) in self.recipes[1].patches.iter().zip(&fitted) {
            write(Path::new(path), &patch.text)?;
        }
        Ok(Some(fitted.into_iter().flat_map(|patch| patch.fuzzy).collect()))
    }

    fn build(&self, name: &str, recipe: &Recipe) -> Result<Built, BuildError> {
        let say = |text: &str| output::step(format_args!("{name}: {text}"));
        build(recipe, &self.cache, &say, &|_| Vec::new())
    }

    /// The study of the suites on both kernels, with its file.
    fn study(&self, base: &Built, patched: &Built) -> Result<(PathBuf, Study)> {
        let file = match &self.cases {
            Cases::Own(file) => file.clone(),
            Cases::Of(suites) => {
                let file = self.place.folder().join("study.toml");
                write(&file, &suites::study(suites))?;
                file
            }
        };
        let mut given = Given::default();
        for (name, built) in [(BASE, base), (PATCHED, patched)] {
            given.kernel(name, &format!("built:{}", built.key), Some(name));
        }
        if let Some(machine) = &self.arguments.machine {
            given.text(&format!("--machine {machine}"), "machine", machine);
        }
        let (study, _) = shipped::find_changed(&file, Size::Scaled, &given)?;
        Ok((file, study))
    }

    fn judged(&self, judgement: &Judgement<'_>, base: &Built, patched: &Built) -> Result<TriedOn> {
        let failures = judgement.results.iter().filter_map(failure);
        let [before, after] = [base, patched].map(sizes_of);
        let mut on = TriedOn {
            base: self.name.clone(),
            release: Some(patched.release.clone()),
            outcome: Outcome::NotKnown,
            fuzz: Vec::new(),
            not_built: None,
            failures: failures.collect(),
            new_lines: new_lines(judgement),
            cases: effects(judgement),
            sizes: sizes::changed(&before, &after),
        };
        if let Some(error) = judgement
            .results
            .iter()
            .filter_map(|result| result.run.as_ref().err())
            .find(|error| error.fault() == Fault::Here)
        {
            bail!("cannot run the suites: {}", error.reason());
        }
        on.outcome = on.judged();
        Ok(on)
    }

    /// The result for patches of which no kernel can be made; another error is not theirs.
    fn not_built(&self, error: BuildError) -> Result<TriedOn> {
        let outcome = match &error {
            BuildError::Patch(
                PatchError::Fits { .. } | PatchError::ChangedNothing(_) | PatchError::InPart { .. },
            ) => Outcome::DoesNotApply,
            BuildError::Failed { .. } => Outcome::DoesNotBuild,
            _ => return Err(error.into()),
        };
        let mut reason = error.to_string();
        if outcome == Outcome::DoesNotApply {
            reason += &self.made_for();
        }
        Ok(TriedOn {
            base: self.name.clone(),
            release: None,
            outcome,
            fuzz: Vec::new(),
            not_built: Some(reason),
            failures: Vec::new(),
            new_lines: Vec::new(),
            cases: Vec::new(),
            sizes: Vec::new(),
        })
    }

    /// The version that the patches name as theirs, and another of Debian's kernels on which they apply, if its
    /// source is here.
    fn made_for(&self) -> String {
        let said = self.input.series.base_commit.as_ref();
        let mut words =
            said.map_or(String::new(), |commit| format!("; they say that they are for commit {commit}"));
        let others = sources(&self.cache).into_iter().filter(|source| *source != self.recipes[1].source);
        if let Some(source) = others.rev().find(|source| self.applies_to(source)) {
            words += &format!("; they apply to {source}: --base {source}");
        }
        words
    }

    fn applies_to(&self, source: &str) -> bool {
        let recipe = Recipe { source: source.to_owned(), ..self.recipes[1].clone() };
        // Two of them, since the patches of a single recipe are only tried when it is built.
        build::ensure_all(&[&recipe, &recipe], &self.cache, &|text| output::step(text)).is_ok()
    }
}

/// The sources of Debian's that are in the cache, as recipes name them.
fn sources(cache: &Cache) -> Vec<String> {
    let entries = std::fs::read_dir(cache.path("sources")).into_iter().flatten().flatten();
    let series =
        |name: String| Some(format!("debian:{}", name.strip_prefix("linux-source-")?.split_once('_')?.0));
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut sources: Vec<String> = names.filter(|name| !name.ends_with(".lock")).filter_map(series).collect();
    sources.sort();
    sources
}

fn sizes_of(built: &Built) -> sizes::Sizes {
    let map = std::fs::read_to_string(built.symbols()).unwrap_or_default();
    sizes::sizes(&map, &std::fs::read(built.image()).unwrap_or_default())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A case that failed; one that was not tried has no failure of its own.
fn failure(result: &CaseResult) -> Option<TriedFailure> {
    let error = result.run.as_ref().err().filter(|error| error.fault() != Fault::Here)?;
    Some(TriedFailure {
        case: result.case.id.clone(),
        reason: dyntick_report::message(&error.reason()),
        console: result.console_tail().to_vec(),
        is_patched: result.case.labels().any(|label| label == PATCHED),
    })
}

/// Writes a file in the place of an older one.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let written = dyntick_system::write_unasked(path, |to| to.write_all(text.as_bytes()));
    written.map(|_| ()).with_context(|| format!("cannot write {}", path.display()))
}
