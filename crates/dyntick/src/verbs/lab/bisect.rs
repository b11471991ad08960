// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab bisect`: the commit that changed a figure. Each commit is one run: in virtual time nothing differs by
//! chance. git only answers questions; the user's tree stays as it is.

use super::own_binary;
use super::tried::page::{change, entries_shown, figures_shown, notable};
use super::tried::suites::{self, Suite};
use super::tried::write;
use crate::output::{self, Target};
use crate::progress::Display;
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_contract::lab::{Bisected, TestedCommit, Verdict};
use dyntick_kernels::build::{self, build};
use dyntick_kernels::cache::Cache;
use dyntick_lab::lab::{CaseResult, Fault, Place};
use dyntick_lab::lookup::{RunFigures, figure_of};
use dyntick_lab::study::Accepted;
use dyntick_lab::tried::changes;
use dyntick_model::Recipe;
use dyntick_report::{Block, Column, Document, Table, numbers::counted, row};
use dyntick_study::claims::{Condition, Figures, number};
use dyntick_study::{Given, Size, Study, shipped};
use dyntick_system::read_regular;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `dyntick lab bisect`.
#[derive(Args)]
#[command(after_help = "\
Interrupted, the same command continues. A commit that does not build or boot
is skipped, and named at the end.

Examples:
  dyntick lab bisect --good v6.12 --bad v6.13 -- 'ticks_per_s < 2'
                                    the ticks of a nohz_full CPU with one task
  dyntick lab bisect --good v6.12 --bad topic --case tick-idle -- 'ticks < 2'
  dyntick lab bisect --good v1 --bad v2 --study my.toml --case a -- 'ticks < 2'")]
pub struct Arguments {
    /// The git repository of the kernel, which is only read
    #[arg(long, value_name = "DIR", default_value = ".")]
    tree: PathBuf,
    /// A revision at which the condition holds
    #[arg(long, value_name = "REVISION")]
    good: String,
    /// A later one at which it does not
    #[arg(long, value_name = "REVISION")]
    bad: String,
    /// The study with the case: a name of `dyntick lab studies`, or a file [default: the suites of `dyntick lab try`]
    #[arg(long, value_name = "STUDY", requires = "case")]
    study: Option<PathBuf>,
    /// The case, by its name or id
    #[arg(long, value_name = "NAME", default_value = "tick-busy")]
    case: String,
    /// Fragments of the configuration, or a complete one by its path
    #[arg(long, value_delimiter = ',', default_value = "lab,no-hz-full,ipv6", value_name = "NAME,…")]
    config: Vec<String>,
    /// Write runs and the state to DIR
    #[arg(long, value_name = "DIR", default_value = "out/bisect")]
    out: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
    /// The condition: a figure, a relation and a bound
    #[arg(value_name = "CONDITION", required = true, last = true)]
    condition: Vec<String>,
}

/// Finds the commit.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    let mut search = Search::begin(arguments)?;
    search.ensure_ends()?;
    while let Some(commit) = search.next()? {
        search.test(&commit)?;
    }
    let bisected = search.end()?;
    if arguments.json {
        arguments.target.json(&bisected)?;
    } else {
        arguments.target.page(&page(&bisected))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A condition on a figure.
struct Wanted {
    text: String,
    figure: String,
    condition: Condition,
}

impl Wanted {
    fn parse(words: &[String]) -> Result<Self> {
        let text = words.join(" ");
        // A figure's key may have spaces.
        let Some(relation) = text.find(['<', '>', '=']) else {
            bail!(
                "cannot read the condition '{text}': write a figure, a relation and a bound, as 'ticks_per_s < 2'"
            );
        };
        let (figure, condition) = text.split_at(relation);
        let condition = condition.parse().with_context(|| format!("cannot read the condition '{text}'"))?;
        Ok(Self { figure: figure.trim().to_owned(), condition, text })
    }
}

/// The state between two calls.
#[derive(Default, Serialize, Deserialize)]
struct State {
    /// The question: another one begins anew.
    question: Vec<String>,
    tested: Vec<TestedCommit>,
}

struct Search<'a> {
    arguments: &'a Arguments,
    /// The file of the study.
    file: PathBuf,
    wanted: Wanted,
    tree: PathBuf,
    ends: [String; 2],
    cache: Cache,
    state: State,
}

impl<'a> Search<'a> {
    fn begin(arguments: &'a Arguments) -> Result<Self> {
        let wanted = Wanted::parse(&arguments.condition)?;
        let tree = std::path::absolute(&arguments.tree)?;
        let ends = [build::commit_of(&tree, &arguments.good)?, build::commit_of(&tree, &arguments.bad)?];
        let question = [
            &[tree.display().to_string(), wanted.text.clone(), arguments.case.clone()][..],
            &[arguments.study.as_ref().map_or(String::new(), |study| study.display().to_string())],
            &arguments.config,
            &ends,
        ]
        .concat();
        let [good, bad] = [short(&ends[0]), short(&ends[1])];
        if build::halving(&tree, &ends[1], &ends[..1])?.is_empty() {
            bail!(
                "cannot bisect: no commit is in {good}..{bad}, so {} is not after {}; exchange --good and --bad, with \
                 the opposite condition, if it is the earlier one",
                arguments.bad,
                arguments.good
            );
        }
        // A case that is not there is an error before anything is compiled.
        let file = study_file(arguments)?;
        study(&file, &arguments.case, "debian:6.12")?;
        let stored = read_regular(&state_file(arguments), LARGEST).ok();
        let stored: Option<State> = stored.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let state = stored
            .filter(|state| state.question == question)
            .unwrap_or(State { question, tested: Vec::new() });
        Ok(Self { arguments, file, wanted, tree, ends, cache: Cache::of_user()?, state })
    }

    /// Tests both ends: without a change between them there is nothing to find.
    fn ensure_ends(&mut self) -> Result<()> {
        let ends = self.ends.clone();
        for (end, expected) in ends.iter().zip([Verdict::Good, Verdict::Bad]) {
            let found = self.test(end)?;
            if found.verdict != expected {
                let value = found.value.map_or(String::new(), |value| format!(": it is {}", number(value)));
                let reason = found.reason.map_or(String::new(), |reason| format!(": {reason}"));
                let words = match expected {
                    Verdict::Good => "does not hold at the good revision",
                    _ => "holds at the bad revision",
                };
                bail!("'{}' {words} {}{value}{reason}", self.wanted.text, short(end));
            }
        }
        Ok(())
    }

    /// The commits that may be the first bad one, the one that halves them best first.
    fn candidates(&self) -> Result<Vec<String>> {
        let of = |verdict| self.state.tested.iter().filter(move |tested| tested.verdict == verdict);
        let good: Vec<String> = of(Verdict::Good).map(|tested| tested.commit.clone()).collect();
        // The newest bad one that was found is the narrowest: each was before the one found earlier.
        let bad = of(Verdict::Bad).next_back().map_or(&self.ends[1], |tested| &tested.commit);
        Ok(build::halving(&self.tree, bad, &good)?)
    }

    /// The next commit to test.
    fn next(&self) -> Result<Option<String>> {
        let is_new = |commit: &&String| !self.state.tested.iter().any(|tested| tested.commit == **commit);
        let candidates = self.candidates()?;
        output::step(format_args!("{} left", counted(candidates.len() as u64, "commit")));
        Ok(candidates.iter().find(is_new).cloned())
    }

    fn test(&mut self, commit: &str) -> Result<TestedCommit> {
        if let Some(known) = self.state.tested.iter().find(|tested| tested.commit == commit) {
            return Ok(known.clone());
        }
        let (value, reason) = match self.results(commit)? {
            Ok(results) => self.value(&results),
            Err(reason) => (None, Some(reason)),
        };
        let verdict = match value {
            Some(value) if self.wanted.condition.holds(value) => Verdict::Good,
            Some(_) => Verdict::Bad,
            None => Verdict::Skipped,
        };
        let subject = build::subject_of(&self.tree, commit)?;
        output::step(format_args!("{} {subject}: {}", short(commit), word(verdict)));
        let tested = TestedCommit { commit: commit.to_owned(), subject, verdict, value, reason };
        self.state.tested.push(tested.clone());
        write(&state_file(self.arguments), &serde_json::to_string_pretty(&self.state)?)?;
        Ok(tested)
    }

    /// The runs of the case on a commit's kernel, or the reason for which there is no such kernel.
    fn results(&self, commit: &str) -> Result<Result<Vec<CaseResult>, String>> {
        let recipe = Recipe {
            source: format!("git:{}#{commit}", self.tree.display()),
            config: self.arguments.config.clone(),
            patches: Vec::new(),
        };
        let say = |text: &str| output::step(format_args!("{}: {text}", short(commit)));
        let built = match build(&recipe, &self.cache, &say, &|_| Vec::new()) {
            Ok(built) => built,
            Err(error @ build::BuildError::Failed { .. }) => return Ok(Err(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        let study = study(&self.file, &self.arguments.case, &format!("built:{}", built.key))?;
        let place = Place::of(Some(&self.arguments.out), &study.name);
        let display = Display::new();
        let watch = |progress| display.show(progress);
        let accepted = Accepted::of(&study, &self.file, &place, &watch)?;
        let judgement = accepted.open(own_binary()?, None)?.run(1)?;
        display.end();
        let here = judgement.results.iter().filter_map(|result| result.run.as_ref().err());
        if let Some(error) = here.into_iter().find(|error| error.fault() == Fault::Here) {
            bail!("cannot run {}: {}", self.arguments.case, error.reason());
        }
        Ok(Ok(judgement.results))
    }

    /// The figure, or the reason for which it is not known.
    fn value(&self, results: &[CaseResult]) -> (Option<f64>, Option<String>) {
        let Some(own) = results.iter().find(|result| result.repetition == 0) else { return (None, None) };
        match &own.run {
            Err(error) => (None, Some(dyntick_report::message(&error.reason()))),
            Ok(run) => match figure_of(run, &self.wanted.figure, None) {
                None => (None, Some(RunFigures(results).absence(&own.case, &self.wanted.figure))),
                value => (value, None),
            },
        }
    }

    /// The result, with what changed at the commit.
    fn end(&self) -> Result<Bisected> {
        let candidates = self.candidates()?;
        let tested = |commit: &str| self.state.tested.iter().find(|tested| tested.commit == commit);
        let first_bad = match &candidates[..] {
            [only] => tested(only).cloned(),
            _ => None,
        };
        let mut before = None;
        let mut found = Vec::new();
        if let Some(first) = &first_bad {
            let parent = build::commit_of(&self.tree, &format!("{}^", first.commit))?;
            before = tested(&parent).cloned();
            if let (Ok(old), Ok(new)) = (self.results(&parent)?, self.results(&first.commit)?) {
                found = changes(&old, &new);
            }
        }
        Ok(Bisected {
            condition: self.wanted.text.clone(),
            candidates: if first_bad.is_some() { Vec::new() } else { candidates },
            first_bad,
            before,
            changes: found,
            tested: self.state.tested.clone(),
        })
    }
}

/// A bisection of a thousand commits tests ten.
const LARGEST: u64 = 1 << 20;

fn state_file(arguments: &Arguments) -> PathBuf {
    arguments.out.join("bisect.json")
}

/// The file of the study: the user's, or one of all suites.
fn study_file(arguments: &Arguments) -> Result<PathBuf> {
    if let Some(file) = &arguments.study {
        return Ok(file.clone());
    }
    let file = arguments.out.join("study.toml");
    dyntick_system::make_folders(&arguments.out)?;
    write(&file, &suites::study(&Suite::ALL.into()))?;
    Ok(file)
}

/// The case of a study on this kernel.
fn study(file: &Path, case: &str, kernel: &str) -> Result<Study> {
    let mut given = Given::default();
    given.kernel(kernel, kernel, Some("commit"));
    given.only(&[case.to_owned()]);
    let (study, _) = shipped::find_changed(file, Size::Scaled, &given)?;
    match study.cases.len() {
        1 => Ok(study),
        cases => bail!("--case {case}: {} has {cases} cases of it; name one by its id", study.name),
    }
}

fn short(commit: &str) -> &str {
    &commit[..commit.len().min(12)]
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Bad => "bad",
        Verdict::Skipped => "skipped",
    }
}

/// The lines of a reason that the page shows: the first one says that, and the second one why.
const REASON_LINES: usize = 2;

fn page(bisected: &Bisected) -> Document {
    let value = |tested: &TestedCommit| tested.value.map_or("not known".to_owned(), number);
    let skipped = bisected.tested.iter().filter(|tested| tested.verdict == Verdict::Skipped).count();
    let mut lead = Vec::new();
    match &bisected.first_bad {
        Some(first) => {
            let before = bisected.before.as_ref().map_or("not tested".to_owned(), value);
            lead.push(format!("{} {}", short(&first.commit), first.subject));
            lead.push(format!(
                "It is the first commit at which '{}' does not hold: {before} before it, {} at it.",
                bisected.condition,
                value(first)
            ));
        }
        None => lead.push(format!(
            "One of {} is the first at which '{}' does not hold: {} could not be tested. They are {}.",
            counted(bisected.candidates.len() as u64, "commit"),
            bisected.condition,
            counted(skipped as u64, "commit"),
            bisected.candidates.iter().map(|commit| short(commit)).collect::<Vec<_>>().join(", ")
        )),
    }
    let figures = figures_shown(&bisected.changes);
    let figures = figures.iter().take(12).map(|(_, figure)| row![change(figure)]);
    let entries = entries_shown(&bisected.changes);
    let functions = entries.iter().flat_map(|(_, entry)| {
        let row = |function: &dyntick_profile::Row| {
            row![entry.kind.clone(), function.function.to_string(), number(function.a), number(function.b)]
        };
        notable(entry).take(8).map(row).collect::<Vec<_>>()
    });
    let tested = bisected.tested.iter().map(|tested| {
        let reason = tested.reason.clone().unwrap_or_default();
        let reason = reason.lines().take(REASON_LINES).collect::<Vec<_>>().join(" ");
        row![
            short(&tested.commit).to_owned(),
            word(tested.verdict),
            value(tested),
            tested.subject.clone(),
            reason
        ]
    });
    let table = |caption: &str, columns: Vec<Column>, rows: Vec<_>| {
        (!rows.is_empty())
            .then(|| Block::Table(Table { caption: caption.to_owned(), columns, rows, ..Table::default() }))
    };
    let blocks = [
        table("Figures that it changed", vec![Column::text("")], figures.collect()),
        table(
            "Mean instructions of kernel entries, by function",
            vec![
                Column::text("entry"),
                Column::text("function"),
                Column::figure("before", ""),
                Column::figure("at it", ""),
            ],
            functions.collect(),
        ),
        table(
            "Tested",
            vec![
                Column::text("commit"),
                Column::text("verdict"),
                Column::figure("figure", ""),
                Column::text("subject"),
                Column::text("reason"),
            ],
            tested.collect(),
        ),
    ];
    let title = format!("Bisection by '{}'", bisected.condition);
    Document { title, lead, blocks: blocks.into_iter().flatten().collect(), ..Document::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_a_figure_a_relation_and_a_bound() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let wanted = Wanted::parse(&words("interrupts:LOC <= 5")).unwrap();
        assert_eq!(wanted.figure, "interrupts:LOC");
        assert!(wanted.condition.holds(5.0) && !wanted.condition.holds(6.0));
        let of_entry = Wanted::parse(&["span:wake-up by x > 1600".to_owned()]).unwrap();
        assert_eq!(of_entry.figure, "span:wake-up by x");
        for text in ["ticks", "ticks 5", "ticks < x"] {
            let error = format!("{:#}", Wanted::parse(&words(text)).err().unwrap());
            assert!(error.contains("cannot read the condition"), "{error}");
        }
    }

    #[test]
    fn the_commit_comes_first() {
        let tested = |commit: &str, verdict, value| TestedCommit {
            commit: commit.repeat(20),
            subject: format!("subject of {commit}"),
            verdict,
            value,
            reason: None,
        };
        let first = tested("bb", Verdict::Bad, Some(250.0));
        let mut bisected = Bisected {
            condition: "ticks_per_s < 2".into(),
            before: Some(tested("aa", Verdict::Good, Some(1.0))),
            tested: vec![first.clone()],
            first_bad: Some(first),
            candidates: Vec::new(),
            changes: Vec::new(),
        };
        let lead = page(&bisected).lead;
        assert_eq!(lead[0], "bbbbbbbbbbbb subject of bb");
        assert!(lead[1].ends_with("1 before it, 250 at it."), "{lead:?}");
        bisected.first_bad = None;
        bisected.candidates = vec!["a".into(), "b".into()];
        assert!(
            page(&bisected).lead[0].starts_with("One of 2 commits is the first"),
            "{:?}",
            page(&bisected).lead
        );
    }
}
