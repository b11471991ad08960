// SPDX-License-Identifier: GPL-2.0-only
//! The answer of a study in a few sentences and the runs that it follows from, and the short report that begins with
//! it. The answer is made by fixed rules from the figures of the report; the book's chapter "Reading a report" has
//! them.

use super::effects::{NO_EFFECT, capital};
use super::measures::{Material, Measure, NO_DIFFERENCE, are_alike, named, option, relative, with_unit};
use super::sides::{self, Row};
use super::titles::{Titled, kernel_of};
use super::{LEAST_WINDOW_NS, claims, distinct, effects, method, overview, setups, window_ns};
use crate::few::few;
use dyntick_lab::judgement::{Compared, FigureEffects, Found};
use dyntick_lab::store::Run;
use dyntick_model::text::shortened;
use dyntick_report::numbers::{self, counted};
use dyntick_report::{Block, Cell, Column, Document, Ruling, Table, Verdict, score};
use dyntick_stats::{Factor, Factorial, LevelMean, Summary};
use dyntick_study::claims::{DIGITS, number};
use dyntick_study::figure::table::TICKS;
use std::collections::BTreeSet;

/// The number of figures that a sentence names.
const MOST_FIGURES: usize = 3;

/// The answer. It names the figures that the study's claims judge; only if the runs have none of them, others.
pub fn answer(material: &Material<'_>, measures: &[&Measure]) -> String {
    if material.runs.is_empty() {
        return "none: no case has a complete run.".to_owned();
    }
    let judged = material.judged(measures);
    let are_all = judged.len() == measures.len();
    let measures = &judged[..];
    let sides = material.study.compared.as_ref();
    let mut sentences = Vec::new();
    sentences.extend(sides.and_then(|sides| of_sides_verdicts(material.verdicts, sides)));
    if sentences.is_empty() {
        sentences.extend(of_claims(material.verdicts));
    }
    let of_options = match sides {
        Some(sides) => of_sides(&sides::rows(material, measures), sides, are_all).into_iter().collect(),
        None => of_effects(material.effects),
    };
    let is_answered = !of_options.is_empty();
    sentences.extend(of_options);
    let compared = material.comparisons.iter().find_map(of_comparison);
    let has_compared = compared.is_some();
    sentences.extend(compared.filter(|_| material.verdicts.is_empty() || !is_answered));
    // What is compared on purpose says more than the range over all cases.
    if !is_answered && (!has_compared || material.verdicts.is_empty()) {
        sentences.extend(of_cases(material.runs, measures));
    }
    sentences.join(" ")
}

/// The runs that the answer follows from.
pub fn from(material: &Material<'_>) -> String {
    let runs = material.runs;
    let cases: BTreeSet<&str> = runs.iter().map(|run| run.run().plan.case.id.as_str()).collect();
    let all = |value: fn(&Titled<'_>) -> String| distinct(runs.iter().map(value).collect());
    let kernels: BTreeSet<String> = runs.iter().map(|run| kernel_of(run)).collect();
    let kernels = few(kernels.into_iter(), MOST_FIGURES).join(", ");
    let lost: u64 = runs.iter().map(|run| run.analysis.lost_events.values().sum::<u64>()).sum();
    let perturbed = match material.perturbed {
        0 => String::new(),
        runs => format!(" and {} with an irrelevant change", counted(runs as u64, "run")),
    };
    format!(
        "{} of {}{perturbed}; Linux {kernels}; {} clock; windows of {}; {} lost.",
        counted(runs.len() as u64, "run"),
        counted(cases.len() as u64, "case"),
        all(|run| run.plan.case.clock.to_string()),
        windows(runs),
        if lost == 0 { "no trace event".to_owned() } else { counted(lost, "trace event") },
    )
}

/// The lengths of the windows: `10 s`, or `2 to 10 s`.
pub fn windows(runs: &[Titled<'_>]) -> String {
    let lengths = || runs.iter().map(|run| window_ns(run));
    range_of_windows(lengths().min().unwrap_or(0), lengths().max().unwrap_or(0))
}

/// The least and the most of some lengths, ns: in tenths of a second, or of a millisecond if that would be nothing.
fn range_of_windows(least: u64, most: u64) -> String {
    let in_unit = |ns: u64| {
        let (unit, name) = if ns < LEAST_WINDOW_NS { (1e6, "ms") } else { (1e9, "s") };
        (numbers::plain((10.0 * ns as f64 / unit).round() / 10.0), name)
    };
    let ((least, unit_of_least), (most, unit)) = (in_unit(least), in_unit(most));
    if unit_of_least != unit {
        format!("{least} {unit_of_least} to {most} {unit}")
    } else if least == most {
        format!("{least} {unit}")
    } else {
        format!("{least} to {most} {unit}")
    }
}

/// The first claim on which the sides have different verdicts, and how many more there are.
fn of_sides_verdicts(verdicts: &[Verdict], sides: &Factor) -> Option<String> {
    let judged =
        |verdict: &&Verdict| sides.levels.iter().all(|level| side(verdict, level).is_some_and(is_judged));
    let judged: Vec<&Verdict> = verdicts.iter().filter(judged).collect();
    let first = *judged.first()?;
    let mut differing = judged.iter().filter(|verdict| differs(verdict, sides));
    let Some(claim) = differing.next() else {
        let with_all = format!("with {}", sides.levels.join(" and with "));
        return Some(match judged.len() {
            1 => format!("{} {with_all}.", ruled(first, first.only_ruling()?)),
            _ => format!("No verdict differs between {}: {}.", and(&sides.levels), score(verdicts)),
        });
    };
    let others = match differing.count() {
        0 => String::new(),
        others => format!(" {} more differ.", counted(others as u64, "claim")),
    };
    // The last side first: it is the change that was asked about.
    let mut by_ruling: Vec<(Ruling, Vec<&str>)> = Vec::new();
    for level in sides.levels.iter().rev() {
        let ruling = side(claim, level)?;
        match by_ruling.iter_mut().find(|(other, _)| *other == ruling) {
            Some((_, levels)) => levels.push(level),
            None => by_ruling.push((ruling, vec![level])),
        }
    }
    let words = |(ruling, levels): &(Ruling, Vec<&str>)| {
        format!("{} with {}", in_words(claim, *ruling), levels.join(" and "))
    };
    let words: Vec<String> = by_ruling.iter().map(words).collect();
    Some(format!("“{}” {}.{others}", plain(&claim.claim), words.join(", and ")))
}

/// Names in a sentence: `a, b and c`.
fn and(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns true if the sides have different verdicts on the claim.
pub fn differs(verdict: &Verdict, sides: &Factor) -> bool {
    let rulings: Vec<Option<Ruling>> = sides.levels.iter().map(|level| side(verdict, level)).collect();
    rulings.iter().flatten().count() == rulings.len() && rulings.windows(2).any(|pair| pair[0] != pair[1])
}

/// The ruling on all variants of a claim that have this label.
fn side(verdict: &Verdict, level: &str) -> Option<Ruling> {
    let of_level = |(variant, _): &&(String, Ruling)| variant.split('/').any(|label| label == level);
    let mut rulings = verdict.rulings.iter().filter(of_level).map(|(_, ruling)| *ruling);
    let first = rulings.next()?;
    rulings.all(|ruling| ruling == first).then_some(first)
}

fn is_judged(ruling: Ruling) -> bool {
    !matches!(ruling, Ruling::NotRun | Ruling::CannotTell)
}

/// One claim with its ruling, or the number of claims with each.
fn of_claims(verdicts: &[Verdict]) -> Option<String> {
    match verdicts {
        [] => None,
        [only] => Some(match only.only_ruling() {
            Some(Ruling::NotRun) => return None,
            Some(ruling) => format!("{}.", ruled(only, ruling)),
            None => format!("{}.", only.in_short()),
        }),
        all => Some(format!("{}.", score(all))),
    }
}

/// `“It has no tick” holds (6 of 6 runs)`
fn ruled(verdict: &Verdict, ruling: Ruling) -> String {
    let remarks = [&verdict.failed_in_short(), &verdict.agreement];
    let remarks: Vec<&str> =
        remarks.into_iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) };
    format!("“{}” {}{remarks}", plain(&verdict.claim), in_words(verdict, ruling))
}

/// A ruling as the end of a sentence: `is reproduced`, `holds`.
fn in_words(verdict: &Verdict, ruling: Ruling) -> String {
    let word = verdict.word(ruling);
    match ruling {
        Ruling::Reproduced | Ruling::NotReproduced if !verdict.published => word.to_owned(),
        Ruling::NotRun => "was not run".to_owned(),
        _ => format!("is {word}"),
    }
}

/// A claim without its full stop, for the middle of a sentence.
fn plain(claim: &str) -> &str {
    claim.trim_end_matches('.')
}

/// The figures that differ most between kernels or settings; `are_all` is false if there are more than those of the
/// rows.
fn of_sides(rows: &[Row], sides: &Factor, are_all: bool) -> Option<String> {
    let (a, b) = (sides.levels.first()?, sides.levels.last()?);
    let mut differing: Vec<&Row> = rows.iter().filter(|row| row.differs()).collect();
    differing.sort_by(|a, b| b.change.total_cmp(&a.change));
    if rows.is_empty() {
        return None;
    }
    if differing.is_empty() {
        let figure = if are_all { "figure" } else { "figure that claims judge" };
        return Some(format!("No {figure} differs by 0.1 % or more between {}.", sides.levels.join(" and ")));
    }
    // One figure of several cases needs their names.
    let is_of_one_case = rows.iter().all(|row| row.case == rows[0].case);
    let one = |row: &&Row| {
        let values: Vec<String> = row.cells.iter().map(Cell::to_string).collect();
        let figure = with_figure(&row.name, &values.join(" -> "), &row.unit);
        if is_of_one_case { figure } else { format!("{figure} in “{}”", row.case) }
    };
    let shown: Vec<String> = differing.iter().take(MOST_FIGURES).map(one).collect();
    Some(format!("From {a} to {b}: {}.", shown.join("; ")))
}

/// `ticks 250 -> 0 1/s`
fn with_figure(name: &str, values: &str, unit: &str) -> String {
    format!("{name} {values} {unit}").trim_end().to_owned()
}

/// The largest effect on each of the first figures.
fn of_effects(effects: &[Found]) -> Vec<String> {
    let figures = effects.iter().flat_map(|found| found.figures.iter().map(move |figure| (found, figure)));
    figures.filter_map(|(found, figure)| of_figure(found, figure)).take(MOST_FIGURES).collect()
}

fn of_figure(found: &Found, figure: &FigureEffects) -> Option<String> {
    let factorial = figure.factorial.as_ref()?;
    let name = named(&figure.figure);
    let Some(level) = largest(found, figure, factorial) else {
        let none = if figure.perturbed.is_empty() { NO_DIFFERENCE } else { NO_EFFECT };
        return Some(format!("{}: {none}.", capital(&name)));
    };
    let base = level.mean - level.difference;
    Some(format!(
        "{}: {name} {} -> {} ({}).",
        option(&level.factor, &level.level),
        number(base),
        with_unit(level.mean, &figure.unit),
        relative(level.difference, level.percent),
    ))
}

/// The level with the largest difference from its base, if it is worth a word.
fn largest<'f>(found: &Found, figure: &FigureEffects, factorial: &'f Factorial) -> Option<&'f LevelMean> {
    let is_base = |level: &LevelMean| {
        found
            .factors
            .iter()
            .any(|factor| factor.name == level.factor && factor.levels.first() == Some(&level.level))
    };
    let differs =
        |level: &&LevelMean| !is_base(level) && !are_alike(level.mean - level.difference, level.mean);
    let is_shown = |level: &&LevelMean| differs(level) && !figure.is_drowned(level);
    factorial.levels.iter().filter(is_shown).max_by(|a, b| a.difference.abs().total_cmp(&b.difference.abs()))
}

/// A comparison of two cases: of latencies if there are any, else of the instructions of the first entry point.
fn of_comparison(compared: &Compared) -> Option<String> {
    let (case, with) = (&compared.case, &compared.with);
    let percent = |a: f64, b: f64| relative(b - a, (a != 0.0).then(|| 100.0 * (b - a) / a));
    if let Some(mean) = compared.latency.iter().find(|shift| shift.point == "mean") {
        return Some(format!(
            "A wake-up takes {} ns in {case} and {} ns in {with}, on average ({}).",
            number(mean.case),
            number(mean.with),
            percent(mean.with, mean.case)
        ));
    }
    let span = compared.asked().next()?;
    Some(format!(
        "{} takes {} instructions in {case} and {} in {with} ({}, {}).",
        span.kind,
        number(span.case),
        number(span.with),
        Cell::signed(Cell::Rounded(span.case - span.with, DIGITS)),
        percent(span.with, span.case)
    ))
}

/// The range of the first figure over the cases that do the same, or of the ticks if that is timer interrupts; of a
/// single case the first figures.
fn of_cases(runs: &[Titled<'_>], measures: &[&Measure]) -> Option<String> {
    let measures = match measures {
        [_, second, ..] if second.header == TICKS.name => &measures[1..],
        all => all,
    };
    let cases = of_one_kind(overview::by_case(runs));
    let of = |measure: &Measure, runs: &[Titled<'_>]| {
        measure.of(runs.iter().map(Titled::run).collect::<Vec<&Run>>())
    };
    if let [only] = &cases[..] {
        let one = |measure: &&Measure| {
            let (name, unit) = measure.name_and_unit();
            Some(with_figure(&name, &measure.cell(Some(&of(measure, only)?)).to_string(), unit))
        };
        let shown: Vec<String> = measures.iter().filter_map(one).take(MOST_FIGURES).collect();
        return (!shown.is_empty()).then(|| format!("{}: {}.", only[0].title_of_all(), shown.join("; ")));
    }
    let known = |measure: &Measure| -> Vec<(Summary, &[Titled<'_>])> {
        cases.iter().filter_map(|runs| Some((of(measure, runs)?, *runs))).collect()
    };
    let (measure, all) =
        measures.iter().map(|measure| (*measure, known(measure))).find(|(_, all)| !all.is_empty())?;
    let (least, fewest) = all.iter().min_by(|a, b| a.0.mean.total_cmp(&b.0.mean))?;
    let (most, highest) = all.iter().max_by(|a, b| a.0.mean.total_cmp(&b.0.mean))?;
    let (name, unit) = measure.name_and_unit();
    let cell =
        |summary: &Summary| with_figure("", &measure.cell(Some(summary)).to_string(), unit).trim().to_owned();
    Some(if are_alike(least.mean, most.mean) {
        format!("{}: {} in all {} cases.", capital(&name), cell(least), all.len())
    } else {
        format!(
            "{}: from {} in “{}” to {} in “{}”.",
            capital(&name),
            cell(least),
            fewest[0].title_of_all(),
            cell(most),
            highest[0].title_of_all()
        )
    })
}

/// The cases with the most frequent script, of several such the first: the figures of other programs are no more or
/// less of the same.
fn of_one_kind<'r>(cases: Vec<&'r [Titled<'r>]>) -> Vec<&'r [Titled<'r>]> {
    fn script<'r>(runs: &'r [Titled<'r>]) -> Option<&'r [String]> {
        Some(&runs[0].run().plan.case.script.as_ref()?.run[..])
    }
    let like = |one: &&[Titled<'_>]| cases.iter().filter(|other| script(other) == script(one)).count();
    let Some(first) = cases.iter().rev().max_by_key(|one| like(one)) else { return Vec::new() };
    cases.iter().filter(|one| script(one) == script(first)).copied().collect()
}

/// The longest question that is repeated, characters.
const LONGEST_QUESTION: usize = 300;

/// The number of kernels that are described: two are what a mail is often about.
const MOST_KERNELS: usize = 4;

/// The page that a short report is for.
pub struct Page<'a> {
    /// The largest number of lines.
    pub lines: usize,
    /// The number of columns.
    pub width: usize,
    /// Returns the number of lines of a document.
    pub height: &'a dyn Fn(&Document) -> usize,
    /// True if it is read where the study is not at hand, so that settings and the method are part of it.
    pub is_mail: bool,
}

/// The number of lines for each part.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Room {
    /// Rows of the table.
    rows: usize,
    /// Different values of a setting; without any only one of those that are needed to repeat a run.
    values: usize,
    /// Claims.
    claims: usize,
    /// True if a mail may split a table that is too wide, and not leave figures out.
    split: bool,
    /// Rows of a table that is there; without any there is no table.
    fewest: usize,
    /// Kernels that are described; if there are more, only their releases are listed.
    kernels: usize,
    /// Characters of the paragraph about what is incomplete.
    gaps: usize,
}

/// The short form of a report: as many cases, settings and claims as fit on its page.
pub fn document(long: &Document, material: &Material<'_>, page: &Page<'_>) -> Document {
    let measures = material.measures();
    let measures: Vec<&Measure> = measures.iter().collect();
    let lead: Vec<String> = material.of_others.iter().cloned().collect();
    let with = |room: Room| {
        let blocks = blocks(material, &measures, room, page);
        let origin = long.origin.clone().filter(|_| page.is_mail);
        Document { question: String::new(), lead: lead.clone(), blocks, origin, ..long.clone() }
    };
    let mut all = rooms().map(with);
    all.find(|document| (page.height)(document) <= page.lines).unwrap_or_else(|| with(SMALLEST))
}

/// A size without a table if that would only repeat that nothing differs.
const SMALL: Room = Room {
    rows: 0,
    values: 0,
    claims: 2,
    split: false,
    fewest: FEWEST_ROWS,
    kernels: MOST_KERNELS,
    gaps: usize::MAX,
};

/// The smallest size, which fits on each page.
const SMALLEST: Room = Room { claims: 1, fewest: 0, kernels: 0, gaps: 160, ..SMALL };

/// The rows of a table that is there.
const FEWEST_ROWS: usize = 2;

/// The sizes from the largest to the smallest: first rows are left out, then settings, then claims, then more rows, and
/// at last kernels, what is incomplete and the table.
fn rooms() -> impl Iterator<Item = Room> {
    let room = |rows, values, claims, split| Room { rows, values, claims, split, ..SMALL };
    let rows = (6..=16).rev().map(move |rows| room(rows, 4, usize::MAX, true));
    let few_rows = (4..=5).rev().map(move |rows| room(rows, 2, usize::MAX, true));
    let values = (0..=3).rev().map(move |values| room(6, values, usize::MAX, false));
    let claims = (3..=10).rev().map(move |claims| room(5, 0, claims, false));
    let few_claims = (2..=3)
        .rev()
        .flat_map(move |claims| (FEWEST_ROWS..=4).rev().map(move |rows| room(rows, 0, claims, false)));
    let few_kernels = (0..=2).rev().map(|kernels| Room { kernels, gaps: 480, ..SMALL });
    let least = [SMALL].into_iter().chain(few_kernels).chain([Room { fewest: 1, ..SMALLEST }, SMALLEST]);
    rows.chain(few_rows).chain(values).chain(claims).chain(few_claims).chain(least)
}

fn blocks(material: &Material<'_>, measures: &[&Measure], room: Room, page: &Page<'_>) -> Vec<Block> {
    let mut pairs = vec![
        ("asked".to_owned(), shortened(&material.study.question, LONGEST_QUESTION)),
        ("answer".to_owned(), answer(material, measures)),
    ];
    if !material.runs.is_empty() {
        pairs.push(("from".to_owned(), from(material)));
    }
    if !page.is_mail {
        pairs.extend(kernels(method::own_kernel_pairs(material.titles, material.runs), material.runs, room));
        pairs.extend(method::fallbacks(material.runs));
    }
    let mut blocks = vec![Block::Pairs(pairs)];
    blocks.extend(claims(material, room.claims, page.is_mail));
    if room.rows > 0 || room.fewest > 0 && !sides::are_all_alike(material, measures) {
        blocks.extend(table(material, measures, room, page).map(Block::Table));
    }
    let gaps = claims::gaps(material.titles, material.results, material.not_run, material.verdicts);
    blocks.extend(gaps.map(|gaps| Block::Paragraph(shortened(&gaps, room.gaps))));
    if page.is_mail && !material.runs.is_empty() {
        let kernels = kernels(method::kernel_pairs(material.titles, material.runs), material.runs, room);
        let setups =
            setups::pairs(material.runs, room.values).into_iter().chain(method::fallbacks(material.runs));
        blocks.push(Block::Pairs(
            kernels.into_iter().chain(setups).chain([method::executor(material.runs)]).collect(),
        ));
    }
    blocks
}

/// The kernels as they are described, or if there is no room for all their releases.
fn kernels(described: Vec<(String, String)>, runs: &[Titled<'_>], room: Room) -> Vec<(String, String)> {
    if described.len() <= room.kernels || room.kernels == MOST_KERNELS {
        return described.into_iter().take(MOST_KERNELS).collect();
    }
    let releases: BTreeSet<String> = runs.iter().map(|run| run.plan.release.to_string()).collect();
    vec![("kernels".to_owned(), few(releases.into_iter(), MOST_KERNELS).join(", "))]
}

/// The table of what the study is about.
fn table(material: &Material<'_>, measures: &[&Measure], room: Room, page: &Page<'_>) -> Option<Table> {
    let rows = room.rows.max(room.fewest);
    effects::table(material.effects, page.width)
        .or_else(|| sides::table(material, measures, rows))
        .or_else(|| effects::asked_spans(material.comparisons, rows))
        .or_else(|| cases(material.runs, measures, Room { rows, ..room }, page))
}

/// The claims that were judged: those whose verdict differs between the two sides first, then those that came out
/// otherwise. A single one is part of the answer.
fn claims(material: &Material<'_>, most: usize, is_mail: bool) -> Option<Block> {
    let sides = material.study.compared.as_ref();
    let mut ordered: Vec<&Verdict> =
        material.verdicts.iter().filter(|verdict| verdict.only_ruling() != Some(Ruling::NotRun)).collect();
    if material.verdicts.len() < 2 || ordered.is_empty() {
        return None;
    }
    let differs = |verdict: &Verdict| sides.is_some_and(|sides| differs(verdict, sides));
    ordered.sort_by_key(|verdict| (!differs(verdict), verdict.only_ruling() == Some(Ruling::Reproduced)));
    // A mail has no colour that says what a sign means.
    let line = |verdict: &&Verdict| {
        let sign = verdict.only_ruling().map_or("/", Ruling::sign);
        (if is_mail { verdict.only_word() } else { sign }.to_owned(), verdict.in_short())
    };
    let mut lines: Vec<(String, String)> = ordered.iter().take(most).map(line).collect();
    if let Some(others) = ordered.len().checked_sub(most).filter(|others| *others > 0) {
        lines.push((" ".to_owned(), format!("and {others} more")));
    }
    Some(Block::Pairs(lines))
}

/// A row for each of the first cases, with as many figures as fit next to each other. A mail may split a wide table.
fn cases(runs: &[Titled<'_>], measures: &[&Measure], room: Room, page: &Page<'_>) -> Option<Table> {
    let with = |figures: usize| cases_table(runs, measures, figures, room.rows);
    let fits = |table: &Table| page.is_mail && room.split || dyntick_report::is_beside(table, page.width);
    let fitting = (1..=measures.len()).rev().filter_map(with).find(fits);
    fitting.or_else(|| with(measures.len().min(1)))
}

fn cases_table(runs: &[Titled<'_>], measures: &[&Measure], figures: usize, most: usize) -> Option<Table> {
    let (cases, left_out) = (overview::by_case(runs), measures.len() - figures);
    let measures = &measures[..figures];
    let row = |runs: &&[Titled<'_>]| {
        let values = measures.iter().map(|measure| {
            let of = measure.of(runs.iter().map(Titled::run));
            measure.cell(of.as_ref())
        });
        [Cell::from(runs[0].title_of_all())].into_iter().chain(values).collect()
    };
    let columns = measures.iter().map(|measure| Column::figure(&measure.header, &measure.unit));
    (!cases.is_empty()).then(|| Table {
        columns: [Column::text("case")].into_iter().chain(columns).collect(),
        rows: cases.iter().take(most).map(row).collect(),
        notes: left_out_in_words(cases.len().saturating_sub(most), left_out).into_iter().collect(),
        ..Table::default()
    })
}

/// `and 2 more cases, 1 more figure`
fn left_out_in_words(cases: usize, figures: usize) -> Option<String> {
    let counted =
        [(cases, "more case"), (figures, "more figure")].into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counted.map(|(count, what)| numbers::counted(count as u64, what)).collect();
    (!words.is_empty()).then(|| format!("and {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_stats::factorial;

    fn verdict(rulings: &[(&str, Ruling)], agreement: &str) -> Verdict {
        let rulings = rulings.iter().map(|(variant, ruling)| ((*variant).to_owned(), *ruling)).collect();
        Verdict {
            claim: "The patch removes every tick.".into(),
            rulings,
            agreement: agreement.into(),
            ..Verdict::default()
        }
    }

    fn sides() -> Factor {
        Factor { name: "kernel".into(), levels: ["before", "after"].map(str::to_owned).to_vec() }
    }

    #[test]
    fn one_claim_is_the_answer_and_several_are_counted() {
        let one = verdict(&[("", Ruling::Reproduced)], "6 of 6 runs");
        assert_eq!(
            of_claims(std::slice::from_ref(&one)).unwrap(),
            "“The patch removes every tick” holds (6 of 6 runs)."
        );
        let published = Verdict { published: true, ..verdict(&[("", Ruling::NotReproduced)], "") };
        assert_eq!(
            of_claims(std::slice::from_ref(&published)).unwrap(),
            "“The patch removes every tick” is not reproduced."
        );
        assert_eq!(
            of_claims(&[one, verdict(&[("", Ruling::NotReproduced)], "")]).unwrap(),
            "1 of 2 claims holds, 1 does not hold."
        );
        assert_eq!(of_claims(&[]), None);
        let failed = vec!["ticks 10, wanted <= 1".to_owned()];
        let failed = Verdict { failed, ..verdict(&[("", Ruling::NotReproduced)], "5 of 6 runs") };
        assert_eq!(
            of_claims(&[failed]).unwrap(),
            "“The patch removes every tick” does not hold (ticks 10, wanted <= 1; 5 of 6 runs)."
        );
    }

    #[test]
    fn smallest_sizes_leave_out_kernels_gaps_and_at_last_the_table() {
        let all: Vec<Room> = rooms().collect();
        assert_eq!(all.last(), Some(&SMALLEST));
        assert_eq!((SMALLEST.rows, SMALLEST.fewest, SMALLEST.kernels), (0, 0, 0));
        let room_of = |room: &Room| (room.kernels, room.gaps, room.fewest);
        let least: Vec<_> = all.iter().skip_while(|room| **room != SMALL).map(room_of).collect();
        assert!(least.windows(2).all(|pair| pair[0].0 >= pair[1].0 && pair[0].1 >= pair[1].1), "{least:?}");
        let described =
            |count: usize| (0..count).map(|at| (at.to_string(), String::new())).collect::<Vec<_>>();
        let names = |room: Room, count: usize| {
            let all = kernels(described(count), &[], room);
            all.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(Room { kernels: 2, ..SMALL }, 2), ["0", "1"]);
        assert_eq!(names(Room { kernels: 2, ..SMALL }, 3), ["kernels"], "none is left out without a word");
        assert_eq!(names(SMALL, 9).len(), MOST_KERNELS);
    }

    #[test]
    fn short_windows_are_no_zeros() {
        let words = |least: u64, most: u64| range_of_windows(least * 1_000_000, most * 1_000_000);
        assert_eq!([words(10, 10), words(10, 10_000)], ["10 ms", "10 ms to 10 s"]);
        assert_eq!([words(10_000, 10_000), words(2_000, 10_020)], ["10 s", "2 to 10 s"]);
    }

    #[test]
    fn a_verdict_that_differs_between_two_kernels_comes_first() {
        let turned = verdict(&[("before", Ruling::NotReproduced), ("after", Ruling::Reproduced)], "");
        assert_eq!(
            of_sides_verdicts(std::slice::from_ref(&turned), &sides()).unwrap(),
            "“The patch removes every tick” holds with after, and does not hold with before."
        );
        let same = verdict(&[("before", Ruling::Reproduced), ("after", Ruling::Reproduced)], "");
        assert_eq!(
            of_sides_verdicts(std::slice::from_ref(&same), &sides()).unwrap(),
            "“The patch removes every tick” holds with before and with after."
        );
        let both = of_sides_verdicts(&[same.clone(), same.clone(), turned], &sides()).unwrap();
        assert!(both.starts_with("“The patch removes every tick” holds with after, and"), "{both}");
        let bad = verdict(&[("before", Ruling::NotReproduced), ("after", Ruling::NotReproduced)], "");
        let open = verdict(&[("before", Ruling::NotRun), ("after", Ruling::Reproduced)], "");
        assert_eq!(
            of_sides_verdicts(&[same.clone(), bad, open], &sides()).unwrap(),
            "No verdict differs between before and after: 1 of 3 claims holds, 1 does not hold, 1 holds in the cases that were run."
        );
        let not_run = verdict(&[("before", Ruling::NotRun), ("after", Ruling::Reproduced)], "");
        assert_eq!(of_sides_verdicts(&[not_run], &sides()), None);
        let three = Factor { levels: ["6.1", "6.12", "7.2"].map(str::to_owned).to_vec(), ..sides() };
        let rulings =
            [("6.1", Ruling::NotReproduced), ("6.12", Ruling::NotReproduced), ("7.2", Ruling::Reproduced)];
        assert_eq!(
            of_sides_verdicts(&[verdict(&rulings, "")], &three).unwrap(),
            "“The patch removes every tick” holds with 7.2, and does not hold with 6.12 and 6.1."
        );
    }

    #[test]
    fn the_largest_effect_on_each_figure_is_named() {
        let factors = vec![
            Factor { name: "nohz".into(), levels: ["ticks", "nohz_full"].map(str::to_owned).to_vec() },
            Factor { name: "lazy".into(), levels: ["eager", "lazy"].map(str::to_owned).to_vec() },
        ];
        let figure = |name: &str, values: &[f64]| FigureEffects {
            figure: name.into(),
            unit: "W".into(),
            factorial: Some(factorial(&factors, values).unwrap()),
            repeats: None,
            perturbed: Vec::new(),
            lacking: Vec::new(),
            more_lacking: 0,
        };
        let figures = vec![
            figure("power:total", &[0.97, 0.98, 1.85, 1.86]),
            figure("tool:stress-ng/matrix/bogo-ops/s", &[612.9, 612.8, 613.0, 612.9]),
        ];
        let found = Found { title: "t".into(), case: "idle".into(), factors: factors.clone(), figures };
        assert_eq!(
            of_effects(&[found]),
            [
                "nohz_full: power, modelled 0.975 -> 1.85 W (+90.3 %).",
                "Stress-ng matrix bogo-ops: no difference."
            ]
        );
    }
}
