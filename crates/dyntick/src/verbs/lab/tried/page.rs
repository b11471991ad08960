// SPDX-License-Identifier: GPL-2.0-only
//! The page of `dyntick lab try`: the outcome, what the message states, then figures, entries, functions and sizes.

use crate::few::few;
use crate::verbs::lab::report::command;
use dyntick_contract::lab::{Outcome, Tried, TriedFailure, TriedOn};
use dyntick_kernels::build::sizes::SizeChange;
use dyntick_lab::tried::{CaseEffect, EntryEffect, FigureEffect, Spread, is_fault};
use dyntick_model::digits::difference;
use dyntick_report::{Block, Column, Document, Origin, Table, numbers::counted, row};
use dyntick_study::claims::{DIGITS, number};

/// The most rows of each part of the page.
#[derive(Clone, Copy)]
struct Most {
    figures: usize,
    entries: usize,
    functions: usize,
    sizes: usize,
    lines: usize,
    stated: usize,
}

impl Most {
    const ALL: Self = Self::rows(usize::MAX, usize::MAX);

    const fn rows(many: usize, few: usize) -> Self {
        Self { figures: many, entries: few, functions: few, sizes: few, lines: few, stated: few }
    }
}

/// The page with all that differs.
pub fn full(tried: &Tried) -> Document {
    document(tried, Most::ALL)
}

/// The page with what is most important, in at most this many lines if `height` can be made so small.
pub fn short(tried: &Tried, lines: usize, height: impl Fn(&Document) -> usize) -> Document {
    const SIZES: [(usize, usize); 6] = [(8, 4), (6, 3), (4, 3), (3, 2), (2, 1), (1, 1)];
    let pages = SIZES.map(|(many, few)| document(tried, Most::rows(many, few)));
    let [.., least] = &pages;
    pages.iter().find(|page| height(page) <= lines).unwrap_or(least).clone()
}

fn document(tried: &Tried, most: Most) -> Document {
    let mut lead: Vec<String> = tried.bases.iter().map(answer).collect();
    lead.extend(tried.bases.iter().filter(|base| !base.fuzz.is_empty()).map(fuzz));
    let stated = tried.stated.iter().take(most.stated).map(|sentence| format!("“{sentence}”"));
    let stated: Vec<String> = stated.collect();
    if !stated.is_empty() {
        lead.push(format!("The message states, which is not judged: {}", stated.join(" ")));
    }
    let mut blocks = Vec::new();
    for base in &tried.bases {
        if tried.bases.len() > 1 {
            blocks.push(Block::Heading(format!("On {}", name_of(base))));
        }
        blocks.extend(details(tried, base, most));
    }
    Document {
        title: format!("What “{}” does", tried.title),
        lead,
        blocks,
        origin: Some(Origin {
            command: command(),
            program: format!("dyntick {}", env!("CARGO_PKG_VERSION")),
        }),
        ..Document::default()
    }
}

fn name_of(base: &TriedOn) -> String {
    match &base.release {
        Some(release) => format!("Linux {release} ({})", base.base),
        None => base.base.clone(),
    }
}

/// The hunks that do not fit exactly.
fn fuzz(base: &TriedOn) -> String {
    const NAMED: usize = 4;
    let named = few(base.fuzz.iter().cloned(), NAMED).join(", ");
    format!(
        "Lines around its changes differ on {}, so look at what was tried (out/try/patches): {named}.",
        name_of(base)
    )
}

/// The outcome in a sentence or two.
fn answer(base: &TriedOn) -> String {
    let name = name_of(base);
    let cases = || counted(base.cases.len() as u64, "case");
    match base.outcome {
        Outcome::DoesNotApply | Outcome::DoesNotBuild => {
            let verb = if base.outcome == Outcome::DoesNotApply { "apply to" } else { "build on" };
            format!(
                "It does not {verb} {name}: {}.",
                base.not_built.as_deref().unwrap_or_default().trim_end_matches('.')
            )
        }
        Outcome::Fails => {
            let patched: Vec<&TriedFailure> =
                base.failures.iter().filter(|failure| failure.is_patched).collect();
            let too =
                if patched.len() < base.failures.len() { " The kernel without it fails too." } else { "" };
            let first = patched.first().map_or("", |failure| failure.reason.as_str());
            let of = counted(patched.len() as u64, "run");
            format!(
                "{name} fails with it, in {of}: {}.{too}",
                first.lines().next().unwrap_or_default().trim_end_matches('.')
            )
        }
        Outcome::Warns => {
            let first = base.faults().next().unwrap_or_default();
            format!("{name} warns with it: {first}.")
        }
        Outcome::Changes => {
            let changed = base.cases.iter().filter(|case| case.figures.iter().any(|figure| figure.is_shown));
            format!(
                "It boots on {name}, and has an effect in {} of {}: {}.",
                changed.count(),
                cases(),
                first_shown(base)
            )
        }
        Outcome::NoEffectShown => format!(
            "It boots on {name}, and no effect is shown in {}: what differs moves as much by irrelevant changes.",
            cases()
        ),
        Outcome::Identical if base.sizes.is_empty() => {
            format!(
                "It changes nothing on {name}: all figures of {} and the size of each function are equal.",
                cases()
            )
        }
        Outcome::Identical => {
            let functions = counted(base.sizes.len() as u64, "function");
            format!(
                "It boots on {name} and changes no figure of {}; the size of {functions} differs.",
                cases()
            )
        }
        Outcome::NotKnown => format!("Nothing is known about {name}: no case ran on both kernels."),
    }
}

/// The first changes: figures that readers ask for, and the entry to the kernel that differs most.
fn first_shown(base: &TriedOn) -> String {
    const NAMED: usize = 2;
    let figures = figures_shown(&base.cases);
    let mut words: Vec<String> = figures
        .iter()
        .take(NAMED)
        .map(|(case, figure)| format!("{} ({})", change(figure), case.title))
        .collect();
    if let Some((_, entry)) = entries_shown(&base.cases).first() {
        let share = percent(entry.before, entry.after);
        let (before, after) = (number(entry.before), number(entry.after));
        words.push(format!("instructions of {} from {before} to {after}{share}", entry.kind));
    }
    if words.is_empty() { "instructions of rare kernel entries".to_owned() } else { words.join(", ") }
}

/// A figure with its change in words.
pub fn change(figure: &FigureEffect) -> String {
    format!(
        "{} from {} to {}{}",
        figure.figure,
        number(figure.before.own),
        number(figure.after.own),
        share(figure)
    )
}

/// The figures with an effect, with their cases: those that readers ask for first, then by their relative change.
/// The figures of kernel entries are in a table of their own.
pub fn figures_shown(cases: &[CaseEffect]) -> Vec<(&CaseEffect, &FigureEffect)> {
    let all = cases.iter().flat_map(|case| case.figures.iter().map(move |figure| (case, figure)));
    let mut shown: Vec<_> = all.filter(|(_, figure)| figure.is_shown && !figure.is_of_an_entry()).collect();
    shown.sort_by(|(_, a), (_, b)| rank(a).cmp(&rank(b)).then(relative(b).total_cmp(&relative(a))));
    shown
}

/// The kernel entries with an effect, with their cases, the largest relative change first.
pub fn entries_shown(cases: &[CaseEffect]) -> Vec<(&CaseEffect, &EntryEffect)> {
    let all = cases.iter().flat_map(|case| case.entries.iter().map(move |entry| (case, entry)));
    let mut shown: Vec<_> = all.filter(|(_, entry)| entry.is_shown).collect();
    let change = |entry: &EntryEffect| ((entry.after - entry.before) / entry.before.max(1.0)).abs();
    shown.sort_by(|(_, a), (_, b)| change(b).total_cmp(&change(a)));
    shown
}

/// The place of a figure among those that are asked for.
fn rank(figure: &FigureEffect) -> usize {
    const FIRST: [&str; 7] =
        ["ticks_per_s", "local_timer_per_s", "interruptions", "wakeup", "latency_ns", "idle", "power"];
    let name = figure.figure.split(':').next().unwrap_or_default();
    FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len())
}

fn relative(figure: &FigureEffect) -> f64 {
    let (before, after) = (figure.before.own, figure.after.own);
    if before == 0.0 { f64::INFINITY } else { ((after - before) / before).abs() }
}

fn share(figure: &FigureEffect) -> String {
    percent(figure.before.own, figure.after.own)
}

fn percent(before: f64, after: f64) -> String {
    /// From here on a factor is read more easily.
    const MANY: f64 = 10.0;
    let factor = after / before;
    if before == 0.0 {
        String::new()
    } else if factor >= MANY {
        format!(" ({factor:.0} times)")
    } else {
        format!(" ({:+.1} %)", 100.0 * (factor - 1.0))
    }
}

fn details(tried: &Tried, base: &TriedOn, most: Most) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(failures(base, most));
    blocks.extend(lines(base, most));
    blocks.extend(figures(base, most));
    blocks.extend(entries(tried, base, most));
    blocks.extend(text_sizes(tried, base, most));
    let equal: Vec<&str> =
        base.cases.iter().filter(|case| is_equal(case)).map(|case| case.case.as_str()).collect();
    if !equal.is_empty() {
        blocks.push(Block::Paragraph(format!("Equal in each figure and function: {}.", equal.join(", "))));
    }
    blocks
}

fn is_equal(case: &CaseEffect) -> bool {
    case.figures.is_empty() && case.entries.is_empty()
}

fn failures(base: &TriedOn, most: Most) -> Option<Block> {
    let failure = |failure: &TriedFailure| dyntick_report::Failure {
        name: failure.case.clone(),
        reason: failure.reason.clone(),
        console: failure.console.clone(),
    };
    let all: Vec<_> = base.failures.iter().take(most.entries).map(failure).collect();
    (!all.is_empty()).then_some(Block::Failures(all))
}

fn lines(base: &TriedOn, most: Most) -> Option<Block> {
    // Those that report a fault first.
    let (faults, others): (Vec<&String>, Vec<&String>) =
        base.new_lines.iter().partition(|line| is_fault(line));
    let rows: Vec<_> =
        faults.into_iter().chain(others).take(most.lines).map(|line| row![line.clone()]).collect();
    let left = base.new_lines.len() - rows.len();
    table("Kernel log: lines that only the patched kernel prints", vec![Column::text("")], rows, left)
}

fn figures(base: &TriedOn, most: Most) -> Option<Block> {
    let effects = figures_shown(&base.cases);
    let has_ranges = most.figures == usize::MAX;
    let rows = effects.iter().take(most.figures).map(|(case, figure)| {
        let of = |spread: Spread| if has_ranges { range(spread) } else { number(spread.own) };
        let change = difference(figure.before.own, figure.after.own, DIGITS) + &share(figure);
        row![case.case.clone(), named(figure), of(figure.before), of(figure.after), change]
    });
    let rows: Vec<_> = rows.collect();
    let left = effects.len() - rows.len();
    let mut columns = vec![Column::text("case"), Column::text("figure")];
    columns.extend(sides());
    let caption = "Figures that differ by more than irrelevant changes make them";
    let mut block = table(caption, columns, rows, left)?;
    let within = base.cases.iter().flat_map(|case| &case.figures).filter(|figure| !figure.is_shown).count();
    if let (Block::Table(table), true) = (&mut block, within > 0) {
        let figures = counted(within as u64, "figure");
        table.notes.push(format!("{figures} more differ by less: no effect is shown."));
    }
    Some(block)
}

fn sides() -> [Column; 3] {
    ["without", "with", "change"].map(|header| Column::figure(header, ""))
}

fn named(figure: &FigureEffect) -> String {
    match figure.unit.as_str() {
        "" | "1" => figure.figure.clone(),
        _ if figure.figure.ends_with("_per_s") || figure.figure.ends_with("_ns") => figure.figure.clone(),
        unit => format!("{} ({unit})", figure.figure),
    }
}

/// A figure with its range, if irrelevant changes move it.
fn range(spread: Spread) -> String {
    let own = number(spread.own);
    let [least, most] = [spread.least, spread.most].map(number);
    if least == most { own } else { format!("{own} [{least}, {most}]") }
}

/// The functions that make up the difference of an entry, but for those with less than a hundredth of the largest.
pub fn notable(entry: &EntryEffect) -> impl Iterator<Item = &dyntick_profile::Row> {
    let largest = entry.functions.iter().map(|row| row.more.abs()).fold(0.0, f64::max);
    entry.functions.iter().filter(move |row| row.more.abs() >= largest / 100.0)
}

fn entries(tried: &Tried, base: &TriedOn, most: Most) -> Option<Block> {
    let all = entries_shown(&base.cases);
    let mut rows = Vec::new();
    for (case, entry) in all.iter().take(most.entries) {
        let change = difference(entry.before, entry.after, DIGITS);
        let (before, after) = (number(entry.before), number(entry.after));
        rows.push(row![case.case.clone(), entry.kind.clone(), before, after, change]);
        for function in notable(entry).take(most.functions) {
            let of = if tried.functions.contains(&*function.function) { " (in the patch)" } else { "" };
            let name = format!("  {}{of}", function.function);
            let change = difference(function.a, function.b, DIGITS);
            rows.push(row![String::new(), name, number(function.a), number(function.b), change]);
        }
    }
    let mut columns = vec![Column::text("case"), Column::text("entry, and its functions")];
    columns.extend(sides());
    let left = all.len() - all.len().min(most.entries);
    table("Mean instructions of kernel entries", columns, rows, left)
}

fn text_sizes(tried: &Tried, base: &TriedOn, most: Most) -> Option<Block> {
    let size = |change: &SizeChange| {
        let of = if tried.functions.contains(&change.function) { " (in the patch)" } else { "" };
        let bytes = |bytes: u64| if bytes == 0 { "–".to_owned() } else { bytes.to_string() };
        let signed = change.after as i64 - change.before as i64;
        row![
            format!("{}{of}", change.function),
            bytes(change.before),
            bytes(change.after),
            format!("{signed:+}")
        ]
    };
    let rows: Vec<_> = base.sizes.iter().take(most.sizes).map(size).collect();
    let left = base.sizes.len() - rows.len();
    let mut columns = vec![Column::text("function")];
    columns.extend(sides());
    table("Kernel text, bytes", columns, rows, left)
}

/// A table with the number of rows that it leaves out; none without rows.
fn table(
    caption: &str,
    columns: Vec<Column>,
    rows: Vec<Vec<dyntick_report::Cell>>,
    left: usize,
) -> Option<Block> {
    let notes = (left > 0).then(|| format!("{left} more: --full")).into_iter().collect();
    (!rows.is_empty()).then(|| Block::Table(Table { caption: caption.to_owned(), columns, rows, notes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(own: f64) -> Spread {
        Spread { own, least: own, most: own }
    }

    fn tried(outcome: fn(&TriedOn) -> Outcome, cases: Vec<CaseEffect>, new_lines: Vec<String>) -> Tried {
        let mut base = TriedOn {
            base: "debian:6.12".into(),
            release: Some("6.12.117".into()),
            outcome: Outcome::NotKnown,
            fuzz: Vec::new(),
            not_built: None,
            failures: Vec::new(),
            new_lines,
            cases,
            sizes: vec![SizeChange { function: "can_stop_full_tick".into(), before: 64, after: 96 }],
        };
        base.outcome = outcome(&base);
        Tried {
            title: "tick: stop faster".into(),
            patches: vec!["0001-tick-stop-faster.patch".into()],
            stated: vec!["Interrupts fall by 94 %.".into()],
            functions: ["can_stop_full_tick".to_owned()].into(),
            bases: vec![base],
        }
    }

    fn text(tried: &Tried) -> String {
        dyntick_report::mail(&short(tried, 60, |page| dyntick_report::mail(page).lines().count()))
    }

    #[test]
    fn the_answer_comes_first_and_a_mail_is_short() {
        let figure = |name: &str, before: f64, after: f64, is_shown: bool| FigureEffect {
            figure: name.into(),
            unit: "1/s".into(),
            before: spread(before),
            after: spread(after),
            is_shown,
        };
        let row =
            |name: &str, a: f64, b: f64| dyntick_profile::Row { function: name.into(), a, b, more: b - a };
        let case = CaseEffect {
            case: "tick-idle".into(),
            title: "ticks of an idle CPU".into(),
            equal: 40,
            figures: vec![
                figure("ticks_per_s", 12.0, 3.0, true),
                figure("context_switches", 5.0, 6.0, false),
            ],
            entries: vec![EntryEffect {
                kind: "wake-up by asm_sysvec_apic_timer_interrupt".into(),
                before: 2000.0,
                after: 1930.0,
                is_shown: true,
                functions: vec![row("can_stop_full_tick", 90.0, 20.0)],
            }],
        };
        let equal = CaseEffect { case: "tick-busy".into(), equal: 41, ..CaseEffect::default() };
        let mail = text(&tried(TriedOn::judged, vec![case, equal], Vec::new()));
        assert!(mail.lines().count() <= 60, "{mail}");
        assert!(mail.lines().all(|line| line.chars().count() <= 72), "{mail}");
        let flat = mail.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "has an effect in 1 of 2 cases: ticks_per_s from 12 to 3 (-75.0 %) (ticks of an idle CPU), instructions of wake-up by asm_sysvec_apic_timer_interrupt from 2000 to 1930 (-3.5 %)",
            "\"Interrupts fall by 94 %.\"",
            "can_stop_full_tick (in the patch)",
            "Equal in each figure and function: tick-busy",
            "1 figure more differ by less",
        ] {
            assert!(flat.contains(words), "{words}: {mail}");
        }
    }

    #[test]
    fn a_warning_is_the_first_line() {
        let lines = vec!["new driver #".to_owned(), "WARNING: CPU: # PID: # at kernel/x.c:3".to_owned()];
        let tried = tried(TriedOn::judged, vec![CaseEffect::default()], lines);
        assert_eq!(tried.bases[0].outcome, Outcome::Warns);
        let page = document(&tried, Most::ALL);
        assert!(page.lead[0].contains("warns with it: WARNING: CPU"), "{:?}", page.lead);
    }

    #[test]
    fn a_patch_without_effect_is_said_to_have_none() {
        let mut tried =
            tried(TriedOn::judged, vec![CaseEffect { equal: 9, ..CaseEffect::default() }], Vec::new());
        tried.bases[0].sizes.clear();
        assert_eq!(tried.bases[0].outcome, Outcome::Identical);
        assert!(answer(&tried.bases[0]).starts_with("It changes nothing on Linux 6.12.117"));
    }
}
