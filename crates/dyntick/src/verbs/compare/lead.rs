// SPDX-License-Identifier: GPL-2.0-only
//! The verdict: what a comparison shows, how many figures it rests on, and what would decide the rest.

use super::table::{Line, with_unit};
use super::words::{self, counted};
use dyntick_contract::compare::Printed;
use dyntick_stats::compare::{Change, Comparison, Figure, Row, Verdict, family};
use dyntick_stats::{Better, Exposure, MetricName};
use std::collections::{BTreeMap, BTreeSet};

/// The kinds of verdicts that are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Better,
    Worse,
    Differs,
    Same,
    Open,
    Unequal,
}

fn kind(figure: &Figure) -> Kind {
    match figure.verdict {
        Verdict::Better | Verdict::TheChange { change: Change::Better, .. } => Kind::Better,
        Verdict::Worse | Verdict::TheChange { change: Change::Worse, .. } => Kind::Worse,
        Verdict::Different | Verdict::RunsDiffer | Verdict::TheChange { change: Change::Different, .. } => {
            Kind::Differs
        }
        Verdict::SameWithin { .. } | Verdict::TheChange { change: Change::None, .. } => Kind::Same,
        Verdict::Inconclusive { .. } => Kind::Open,
        Verdict::Unequal => Kind::Unequal,
    }
}

/// The sentences on one side, a paragraph each.
pub fn sentences(printed: &Printed, side: usize, lines: &[Line<'_>], of_files: bool) -> Vec<String> {
    let comparison = &printed.comparison;
    let labels = [comparison.labels[0].as_str(), comparison.labels[side].as_str()];
    let mut sentences = vec![answer(lines, labels, comparison.question.same_within), counts(lines)];
    sentences.extend(few_runs(comparison, lines, labels, of_files));
    sentences.extend(exposures(lines, labels));
    sentences.extend(settings(printed, side, labels));
    sentences.extend(missing(comparison, side, labels));
    sentences
}

fn answer(lines: &[Line<'_>], [a, b]: [&str; 2], same_within: f64) -> String {
    let of = |wanted: Kind| lines.iter().filter(|line| kind(line.figure) == wanted).collect::<Vec<_>>();
    let (better, worse, differs) = (of(Kind::Better), of(Kind::Worse), of(Kind::Differs));
    let same = of(Kind::Same).len();
    match (better.is_empty(), worse.is_empty()) {
        (false, true) => format!("{b} is {} than {a}: {}.", comparative(&better, true), shown(&better)),
        (true, false) => format!("{b} is {} than {a}: {}.", comparative(&worse, false), shown(&worse)),
        (false, false) => {
            format!("{b} is worse than {a} in {}, and better in {}.", shown(&worse), shown(&better))
        }
        (true, true) if !differs.is_empty() => {
            let one_run = differs.iter().all(|line| line.figure.verdict == Verdict::RunsDiffer);
            let shown = shown(&differs);
            if one_run {
                format!(
                    "These runs differ: {shown}. One run of a side does not show how much its runs vary, so {b} is \
                     neither better nor worse than {a}."
                )
            } else {
                format!("{b} differs from {a}, in what has no better direction: {shown}.")
            }
        }
        _ if same == lines.len() => {
            let within = words::number(same_within);
            format!(
                "{b} is the same as {a}: {} within {within} %, or as far as shown.",
                counted(same, "figure")
            )
        }
        _ if same > 0 && has_moved(&of(Kind::Open), same_within) => {
            let seen = undecided(&of(Kind::Open), [a, b]);
            format!(
                "{seen} {} the same within {} %, or as far as shown.",
                counted(same, "figure"),
                words::number(same_within)
            )
        }
        _ if same > 0 => {
            let within = words::number(same_within);
            format!(
                "No difference is shown: {same} of {} are the same in {a} and {b} within {within} %, or as far as shown.",
                counted(lines.len(), "figure")
            )
        }
        _ => undecided(&of(Kind::Open), [a, b]),
    }
}

/// Returns true if an open figure moved by more than what counts as the same, %.
fn has_moved(open: &[&Line<'_>], same_within: f64) -> bool {
    open.iter().any(|line| line.figure.percent.is_some_and(|percent| percent.abs() > same_within))
}

/// The answer if nothing is decided, with the largest changes that were seen.
fn undecided(open: &[&Line<'_>], [a, b]: [&str; 2]) -> String {
    if open.is_empty() {
        return format!("{b} and {a} were not watched alike, so nothing of them is compared.");
    }
    let changed: Vec<&Line<'_>> =
        open.iter().filter(|line| line.figure.shift.value != 0.0).copied().collect();
    if changed.is_empty() {
        return format!(
            "Undecided: all figures of {b} are equal to those of {a}, but so few runs show little."
        );
    }
    format!(
        "Undecided: so few runs do not show if {b} is better or worse than {a}. Seen: {}.",
        shown(&changed)
    )
}

/// `slower` where all is times or rates.
fn comparative(lines: &[&Line<'_>], better: bool) -> &'static str {
    let is_speed = |line: &&Line<'_>| {
        let row = line.row;
        row.unit == "ns" && row.better == Better::Lower
            || row.unit.ends_with("/s") && row.better == Better::Higher
    };
    match (lines.iter().all(is_speed), better) {
        (true, true) => "faster",
        (true, false) => "slower",
        (false, true) => "better",
        (false, false) => "worse",
    }
}

/// The number of figures that the answer names.
const NAMED: usize = 3;

/// The figures that differ most: of the metric with the largest change, as it is judged.
fn shown(lines: &[&Line<'_>]) -> String {
    let size = |line: &Line<'_>| line.figure.percent.map_or(f64::INFINITY, f64::abs);
    let order =
        |a: &&&Line<'_>, b: &&&Line<'_>| a.rank().1.cmp(&b.rank().1).then(size(b).total_cmp(&size(a)));
    let mut sorted: Vec<&&Line<'_>> = lines.iter().collect();
    sorted.sort_by(order);
    let mut rows: Vec<&Row> = Vec::new();
    for line in &sorted {
        if !rows.iter().any(|row| std::ptr::eq(*row, line.row)) {
            rows.push(line.row);
        }
    }
    let of_row = |row: &&Row| {
        let of_row: Vec<&&&Line<'_>> = sorted.iter().filter(|line| std::ptr::eq(line.row, *row)).collect();
        let changes: Vec<String> = of_row.iter().take(NAMED).map(|line| change(line)).collect();
        format!("{}{}", subject(row, of_row.first().map(|line| ***line)), changes.join(", "))
    };
    let named: Vec<String> = rows.iter().take(NAMED).map(of_row).collect();
    let others = rows.len() - named.len();
    let more = if others > 0 { format!("; and {}", counted(others, "more metric")) } else { String::new() };
    named.join("; ") + &more
}

/// The metric, with how many of its threads or CPUs agree.
fn subject(row: &Row, line: Option<&Line<'_>>) -> String {
    let Some((fold, line)) = row.fold.as_ref().zip(line) else { return format!("{} ", row.metric) };
    let agree = fold
        .members
        .iter()
        .filter(|member| member.at(line.point).is_some_and(|[a, b]| (b - a) * line.figure.shift.value > 0.0));
    let (agree, all) = (agree.count(), fold.members.len());
    let members = words::members(fold);
    if agree == all {
        format!("{}, all {members}, ", row.metric)
    } else {
        format!("{}, {agree} of {members}, ", row.metric)
    }
}

/// `p99 by +19 % (4.1 to 4.9 µs)`. The percentage is that of the runs' shift, and is left out if it contradicts the
/// medians beside it.
fn change(line: &Line<'_>) -> String {
    let point = line.point.map_or(String::new(), |point| format!("{point} "));
    let sides = [0, 1].map(|at| with_unit(line.row, line.figure, at));
    let [a, b] = [0, 1].map(|at| line.figure.sides[at].value.value);
    let agrees = |percent: &f64| percent.is_finite() && percent * (b - a) >= 0.0;
    let by = match line.figure.percent.filter(|percent| agrees(percent) && line.row.unit != "%") {
        Some(percent) => format!("by {} % ", words::signed(percent)),
        None => String::new(),
    };
    format!("{point}{by}({} to {})", sides[0], sides[1])
}

fn counts(lines: &[Line<'_>]) -> String {
    const KINDS: [(Kind, &str); 6] = [
        (Kind::Better, "better"),
        (Kind::Worse, "worse"),
        (Kind::Same, "the same"),
        (Kind::Differs, "different"),
        (Kind::Open, "open"),
        (Kind::Unequal, "not judged"),
    ];
    let count = |wanted: Kind| lines.iter().filter(|line| kind(line.figure) == wanted).count();
    let counted_kinds =
        KINDS.iter().map(|(kind, word)| (count(*kind), *word)).filter(|(count, _)| *count > 0);
    let each: Vec<String> = counted_kinds.map(|(count, word)| format!("{count} {word}")).collect();
    format!("{} compared: {}.", counted(lines.len(), "figure"), each.join(", "))
}

/// The number of runs that could decide what too few runs leave open.
fn few_runs(
    comparison: &Comparison,
    lines: &[Line<'_>],
    labels: [&str; 2],
    of_files: bool,
) -> Option<String> {
    let needed = comparison.needed_runs;
    let has_few = |line: &&Line<'_>| {
        matches!(line.figure.verdict, Verdict::Inconclusive { .. } | Verdict::RunsDiffer)
            && line.figure.sides.iter().any(|side| side.runs < needed)
    };
    let few: Vec<&Line<'_>> = lines.iter().filter(has_few).collect();
    let fewest = |at: usize| few.iter().map(|line| line.figure.sides[at].runs).min();
    let runs = [fewest(0)?, fewest(1)?];
    let have = if runs[0] == runs[1] {
        format!("{} each", runs[0])
    } else {
        format!("{} of {}, {} of {}", runs[0], labels[0], runs[1], labels[1])
    };
    let how = if of_files { ", as a folder with a file for each run" } else { "" };
    let fewer = if of_files && comparison.tests > 1 {
        " Fewer are enough with --metric NAME, which compares fewer figures."
    } else {
        ""
    };
    Some(format!("Open figures need at least {needed} runs of each side ({have} here){how}.{fewer}"))
}

/// The exposure of both sides, and that figures that grow with it are not judged.
fn exposures(lines: &[Line<'_>], labels: [&str; 2]) -> Option<String> {
    let known = lines.iter().filter_map(|line| {
        let [a, b] = &line.figure.sides;
        Some([a.exposure?, b.exposure?])
    });
    let all: Vec<[Exposure; 2]> = known.collect();
    let unequal = lines.iter().find(|line| line.figure.verdict == Verdict::Unequal);
    let text = |at: usize| {
        let mut texts: Vec<String> = all.iter().map(|both| words::exposure(&both[at])).collect();
        texts.sort_by(|a, b| dyntick_model::text::natural_order(a, b));
        texts.dedup();
        match &texts[..] {
            [] => String::new(),
            [one] => one.clone(),
            [first, .., last] => format!("{first} to {last}"),
        }
    };
    if all.is_empty() {
        return None;
    }
    let watched = if text(0) == text(1) {
        format!("Watched in a run: {} on both sides.", text(0))
    } else {
        format!("Watched in a run: {} {}; {} {}.", labels[0], text(0), labels[1], text(1))
    };
    Some(match unequal {
        Some(line) => format!(
            "{watched} Figures that grow with it, as {}, are not judged.",
            words::figure_name(line.row, line.point.as_ref())
        ),
        None => watched,
    })
}

/// The settings that differ between the sides.
fn settings(printed: &Printed, side: usize, [a, b]: [&str; 2]) -> Option<String> {
    let (first, other) = (printed.settings.first()?, printed.settings.get(side)?);
    let differ = |(name, values): (&String, &BTreeSet<String>)| {
        let others = other.get(name)?;
        let text = |values: &BTreeSet<String>| {
            let mut texts: Vec<&str> = values.iter().take(NAMED).map(String::as_str).collect();
            if values.len() > NAMED {
                texts.push("…");
            }
            texts.join(", ")
        };
        (values != others).then(|| format!("{name} {} in {a}, {} in {b}", text(values), text(others)))
    };
    let differing: Vec<String> = first.iter().filter_map(differ).collect();
    (!differing.is_empty()).then(|| format!("The sides did not do the same: {}.", differing.join("; ")))
}

/// The metrics that only one of both sides has.
fn missing(comparison: &Comparison, side: usize, labels: [&str; 2]) -> Option<String> {
    let only = |having: usize, lacking: usize| {
        let names = comparison.missing.iter();
        let names = names.filter(|(_, sides)| sides.contains(&having) && !sides.contains(&lacking));
        names.map(|(name, _)| name).collect::<Vec<&MetricName>>()
    };
    let texts: Vec<String> = [(0, only(0, side)), (1, only(side, 0))]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(at, names)| {
            format!("{} only in {} ({})", counted(names.len(), "metric"), labels[at], in_short(&names))
        })
        .collect();
    (!texts.is_empty()).then(|| format!("Not compared: {}.", texts.join("; ")))
}

/// Names of metrics, those of threads and CPUs by their members.
fn in_short(names: &[&MetricName]) -> String {
    let mut members: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut single: Vec<String> = Vec::new();
    for name in names {
        match family(name.as_str()) {
            Some((all, member)) => {
                let stem = all.split('*').next().unwrap_or_default();
                let folder = stem.rsplit_once('/').map_or("", |(folder, _)| folder);
                members.entry(folder.to_owned()).or_default().insert(member.to_owned());
            }
            None => single.push(name.to_string()),
        }
    }
    let folded = members.into_iter().map(|(folder, members)| {
        let mut members: Vec<String> = members.into_iter().collect();
        members.sort_by(|a, b| dyntick_model::text::natural_order(a, b));
        format!("{folder}: {}", some(&members))
    });
    let mut all: Vec<String> = folded.collect();
    all.extend((!single.is_empty()).then(|| some(&single)));
    all.join("; ")
}

/// The first names, and how many more there are.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<String>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
