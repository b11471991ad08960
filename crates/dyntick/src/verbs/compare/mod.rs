// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick compare A B [C…]`: are the figures of B better than those of A, worse, or the same?

mod lead;
mod limits;
mod page;
mod table;
mod words;

use crate::failure::InFile;
use crate::output::{self, Target};
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_contract::compare::Printed;
use dyntick_formats::cyclictest::Unit;
use dyntick_formats::picked::Picker;
use dyntick_lab::sides::{self, KnownSide, Pick, Wanted};
use dyntick_stats::Better;
use dyntick_stats::compare::{Comparison, Question, Verdict};
use limits::Limit;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

/// The arguments of `dyntick compare`.
#[derive(Args)]
pub struct Arguments {
    /// Sides to compare; the first is the base. A file that a tool printed, a folder of such files (each a
    /// run), the folder of a study's runs or of one run; NAME=PATH gives it that name. Of a file with several
    /// benchmarks each is a side if it is the only one, and FILE#2 is the second
    #[arg(required = true, value_name = "SIDE")]
    sides: Vec<String>,
    /// Compare only metrics whose name contains NAME; may be given several times. Of runs of a study any
    /// figure can be named, as tick_cause:fair-server
    #[arg(short, long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// Treat differences of up to PERCENT percent as the same
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    same_within: f64,
    /// Count samples above each LIMIT: a time with its unit, as 20us,1ms
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    above: Vec<Limit>,
    /// Take UNIT where a file does not state it: ns or us of latencies; any of --pattern and --path
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
    /// Compare the number that REGEX finds in each line, in its one group, as 'took ([0-9.]+) ms'; NAME=REGEX
    /// names it. For programs without a reader
    #[arg(long, value_name = "REGEX")]
    pattern: Vec<String>,
    /// Compare the number at PATH in each file's JSON, as results.0.mean or /results/0/mean; NAME=PATH names it
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,
    /// The better direction of --pattern and --path
    #[arg(long, value_enum, value_name = "DIRECTION", default_value_t = Direction::Unknown)]
    better: Direction,
    /// Print all figures, and those of each thread and CPU
    #[arg(long)]
    full: bool,
    /// Exit with status 1 if a metric is at least this bad
    #[arg(long, value_enum, default_value_t = FailOn::Worse)]
    fail_on: FailOn,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// The better direction of figures.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Direction {
    /// Smaller values
    Lower,
    /// Larger values
    Higher,
    /// None is known
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// Any metric is worse
    Worse,
    /// Any metric is worse, differs, is inconclusive or is not judged, or only the first side has it
    Inconclusive,
    /// Nothing
    Never,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse::<f64>().map_err(|error| error.to_string())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("must be from 0 to 100".to_owned()) }
}

impl Arguments {
    /// The comparison of a verb's own runs, with the better direction of what patterns find in their output.
    pub fn of_runs(pattern: Vec<String>, better: Direction, json: bool, full: bool, target: Target) -> Self {
        Self {
            sides: Vec::new(),
            metrics: Vec::new(),
            same_within: 5.0,
            above: Vec::new(),
            unit: None,
            pattern,
            path: Vec::new(),
            better,
            full,
            fail_on: FailOn::Worse,
            json,
            target,
        }
    }

    /// The same comparison of these sides.
    pub fn with_sides(self, sides: Vec<String>) -> Self {
        Self { sides, ..self }
    }

    /// The figures that are read of each side.
    pub fn wanted(&self) -> Result<Wanted> {
        let picks = self.picks()?;
        let unit = match self.unit.as_deref() {
            _ if !picks.is_empty() => None,
            None => None,
            Some("us" | "µs") => Some(Unit::Micro),
            Some("ns") => Some(Unit::Nano),
            Some(other) => bail!("cannot use the unit {other} for latencies: write --unit us or --unit ns"),
        };
        Ok(Wanted { words: self.metrics.clone(), unit, picks, are_runs: false })
    }

    fn picks(&self) -> Result<Vec<Pick>> {
        let better = match self.better {
            Direction::Lower => Better::Lower,
            Direction::Higher => Better::Higher,
            Direction::Unknown => Better::Unknown,
        };
        let unit = self.unit.clone().unwrap_or_default();
        let patterns = self.pattern.iter().map(|text| (text, Picker::pattern as fn(&str) -> _));
        let paths = self.path.iter().map(|text| (text, Picker::json as fn(&str) -> _));
        let pick = |(text, make): (&String, fn(&str) -> _)| {
            let named = text.split_once('=').filter(|(name, _)| is_name(name));
            let (name, text) = named.unwrap_or((text, text));
            let picker = make(text)?;
            Ok(Pick { name: name.to_owned(), picker, unit: unit.clone(), better })
        };
        patterns.chain(paths).map(pick).collect()
    }
}

/// Returns true for the name before a pattern, which has no character of one.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || [' ', '-', '_', '/'].contains(&c);
    !text.is_empty() && !text.starts_with('/') && !text.ends_with(' ') && text.chars().all(is_plain)
}

/// The part of a path that names a benchmark of the file, `FILE#2` or `FILE#COMMAND`, and the file.
fn split_part(path: &str) -> (&str, Option<&str>) {
    match path.rsplit_once('#') {
        Some((file, part)) if !Path::new(path).exists() && Path::new(file).is_file() => (file, Some(part)),
        _ => (path, None),
    }
}

/// The benchmark of a side that is named by its number, from 1, or by a text in its name.
fn part_of(known: &KnownSide, named: &str) -> Result<KnownSide> {
    let names = || known.parts.iter().map(|part| part_name(part)).collect::<Vec<_>>().join(", ");
    if known.parts.is_empty() {
        bail!(
            "cannot take benchmark {named} of it: its tool does not name benchmarks; compare the complete file"
        );
    }
    let by_number = named.parse::<usize>().ok().and_then(|number| known.parts.get(number.checked_sub(1)?));
    let matching: Vec<&String> = known.parts.iter().filter(|part| part_name(part).contains(named)).collect();
    let found = by_number.or(if let [part] = matching[..] { Some(part) } else { None });
    match found {
        Some(part) => Ok(known.of_part(&known.side.label, part)),
        None if matching.is_empty() => bail!("it has no benchmark {named}; it has {}", names()),
        None => bail!("several of its benchmarks are like {named}; it has {}", names()),
    }
}

/// The name of a benchmark without its tool.
fn part_name(part: &str) -> &str {
    part.split_once('/').map_or(part, |(_, name)| name)
}

/// The benchmarks of a file that is the only side, each as a side.
fn benchmarks(known: &KnownSide) -> Result<Vec<KnownSide>> {
    if known.parts.len() < 2 {
        bail!("one side is not enough: name another file or folder, or a file with several benchmarks");
    }
    Ok(known.parts.iter().map(|part| known.of_part(part_name(part), part)).collect())
}

/// The sides with their benchmarks by position, if they have nothing in common else: files of one benchmark each that
/// was called differently.
fn aligned(known: Vec<KnownSide>) -> Vec<KnownSide> {
    let Some((first, others)) = known.split_first() else { return known };
    let is_apart =
        |other: &KnownSide| !first.side.metrics.keys().any(|name| other.side.metrics.contains_key(name));
    let is_alike = |other: &KnownSide| !other.parts.is_empty() && other.parts.len() == first.parts.len();
    if !others.iter().all(|other| is_apart(other) && is_alike(other)) {
        return known;
    }
    let mut by_position: Vec<KnownSide> = known.iter().map(KnownSide::by_position).collect();
    let names =
        |side: &KnownSide| side.parts.iter().map(|part| part_name(part)).collect::<Vec<_>>().join(", ");
    let named: Vec<String> =
        known.iter().map(|side| format!("{} of {}", names(side), side.side.label)).collect();
    by_position[0].notes.push(format!(
        "benchmarks with different names are compared by their positions: {}",
        named.join("; ")
    ));
    by_position
}

/// The label and the path of each side, `PATH` or `NAME=PATH`. A path without a name is shown by its end.
fn labelled(sides: &[String]) -> Vec<(String, &str)> {
    let split = |named: &'_ String| match named.split_once('=') {
        Some((label, path)) if !Path::new(named).exists() => {
            (Some(label.to_owned()), named.len() - path.len())
        }
        _ => (None, 0),
    };
    let split: Vec<(Option<String>, usize)> = sides.iter().map(split).collect();
    let end = |path: &str, parts: usize| {
        let all: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        all[all.len().saturating_sub(parts)..].join("/")
    };
    let labels = |parts: usize| -> Vec<String> {
        let each = sides.iter().zip(&split);
        each.map(|(side, (label, at))| label.clone().unwrap_or_else(|| end(&side[*at..], parts))).collect()
    };
    let is_unique = |labels: &Vec<String>| labels.iter().collect::<BTreeSet<_>>().len() == labels.len();
    let labels = (1..8).map(labels).find(is_unique).unwrap_or_else(|| numbered(labels(1)));
    labels.into_iter().zip(sides.iter().zip(&split).map(|(side, (_, at))| &side[*at..])).collect()
}

/// Labels of which equal ones have a number.
fn numbered(labels: Vec<String>) -> Vec<String> {
    labels.into_iter().enumerate().map(|(at, label)| format!("{label} ({})", at + 1)).collect()
}

/// Notes without their repetition for several sides: `a, b: note`.
fn gathered(notes: Vec<String>) -> Vec<String> {
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    for note in notes {
        let (label, rest) = note.split_once(": ").unwrap_or(("", &note));
        match found
            .iter_mut()
            .find(|(labels, known)| known == rest && !labels.iter().any(|known| known == label))
        {
            Some((labels, _)) => labels.push(label.to_owned()),
            None => found.push((vec![label.to_owned()], rest.to_owned())),
        }
    }
    let text = |(labels, rest): (Vec<String>, String)| match labels.join(", ") {
        labels if labels.is_empty() => rest,
        labels => format!("{labels}: {rest}"),
    };
    found.into_iter().map(text).collect()
}

/// Compares; the status is 1 where the comparison failed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    dyntick_system::leave_half_of_memory();
    let wanted = arguments.wanted()?;
    let mut known = Vec::new();
    for (label, path) in labelled(&arguments.sides) {
        let read = || -> Result<KnownSide> {
            let (file, part) = split_part(path);
            let side = sides::read(&label, Path::new(file), &wanted)?;
            match part {
                Some(part) => part_of(&side, part),
                None => Ok(side),
            }
        };
        known.push(read().with_context(|| InFile(path.to_owned()))?);
    }
    let known = match &known[..] {
        [one] => benchmarks(one).with_context(|| InFile(arguments.sides[0].clone()))?,
        _ => aligned(known),
    };
    judged(known, arguments)
}

/// Compares sides and prints the result; the status is 1 where the comparison failed.
pub fn judged(known: Vec<KnownSide>, arguments: &Arguments) -> Result<ExitCode> {
    let mut printed = compared(known, arguments);
    if printed.comparison.rows.is_empty() {
        bail!("{}", nothing_in_common(&printed.comparison, &arguments.metrics));
    }
    let verdicts =
        printed.comparison.rows.iter().flat_map(table::figures_of).map(|(_, figure)| figure.verdict);
    let failed = verdicts.into_iter().any(|verdict| arguments.fail_on.fails(&verdict))
        || arguments.fail_on == FailOn::Inconclusive && has_ended(&printed.comparison);
    if arguments.json {
        arguments.target.json(&printed)?;
    } else {
        for note in std::mem::take(&mut printed.notes) {
            output::note(&note);
        }
        arguments.target.page(&page::document(&printed, arguments))?;
    }
    Ok(ExitCode::from(u8::from(failed)))
}

/// Returns true if another side lacks a metric that the first has, e.g. of a benchmark that crashed.
fn has_ended(comparison: &Comparison) -> bool {
    comparison.missing.iter().any(|(_, having)| having.contains(&0))
}

fn compared(known: Vec<KnownSide>, arguments: &Arguments) -> Printed {
    let mut notes: Vec<String> = known.iter().flat_map(|known| known.notes.clone()).collect();
    for (at, other) in known.iter().enumerate().skip(1) {
        if !known[0].contents.is_disjoint(&other.contents) {
            notes.push(format!(
                "{} and {} have a file with the same content: it is compared with itself",
                known[0].side.label, known[at].side.label
            ));
        }
    }
    let question = Question {
        same_within: arguments.same_within,
        limits: arguments.above.iter().map(|limit| limit.ns).collect(),
    };
    let made_here = known.iter().map(|known| known.made_here).collect();
    let disturbed_runs = known.iter().map(|known| known.disturbed_runs).collect();
    let settings = known.iter().map(|known| known.settings.clone()).collect();
    let sides: Vec<_> = known.into_iter().map(|known| known.side).collect();
    let comparison = Comparison::of(&sides, question);
    Printed { comparison, made_here, disturbed_runs, settings, notes: gathered(notes) }
}

fn nothing_in_common(comparison: &Comparison, wanted: &[String]) -> String {
    let of = |side: usize| {
        let names = comparison.missing.iter().filter(move |(_, having)| having.contains(&side));
        let names: Vec<&str> = names.map(|(name, _)| name.as_str()).take(5).collect();
        format!(
            "{} has {}",
            comparison.labels[side],
            if names.is_empty() { "none".into() } else { names.join(", ") }
        )
    };
    let wanted =
        if wanted.is_empty() { String::new() } else { format!(" named like {}", wanted.join(" or ")) };
    let have: Vec<String> = (0..comparison.labels.len()).map(of).collect();
    format!("the sides have no metric{wanted} in common: {}", have.join("; "))
}

impl FailOn {
    fn fails(self, verdict: &Verdict) -> bool {
        use dyntick_stats::compare::Change;
        let worse = matches!(verdict, Verdict::Worse | Verdict::TheChange { change: Change::Worse, .. });
        let open = matches!(
            verdict,
            Verdict::Inconclusive { .. }
                | Verdict::Different
                | Verdict::RunsDiffer
                | Verdict::Unequal
                | Verdict::TheChange { change: Change::Different, .. }
        );
        match self {
            Self::Worse => worse,
            Self::Inconclusive => worse || open,
            Self::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(sides: &[&str]) -> Vec<String> {
        let sides: Vec<String> = sides.iter().map(|side| (*side).to_owned()).collect();
        labelled(&sides).into_iter().map(|(label, _)| label).collect()
    }

    #[test]
    fn paths_are_shown_by_their_ends() {
        assert_eq!(labels(&["out/x/a.txt", "out/x/b.txt"]), ["a.txt", "b.txt"]);
        assert_eq!(labels(&["old/1/", "new/1", "base=new/2"]), ["old/1", "new/1", "base"]);
        assert_eq!(labels(&["x/a", "x/a"]), ["a (1)", "a (2)"]);
    }

    #[test]
    fn notes_of_several_sides_are_one() {
        let notes = ["a: x", "b: x", "b: y", "plain"].map(str::to_owned).to_vec();
        assert_eq!(gathered(notes), ["a, b: x", "b: y", "plain"]);
    }
}
