// SPDX-License-Identifier: GPL-2.0-only
//! The effects of options on figures, and the comparisons of two cases: what moved, by how much, and where the
//! instructions are.

use super::measures::{LEAST_DIFFERENCE, NO_DIFFERENCE, are_alike, named, option, relative, with_unit};
use super::{few, latency};
use dyntick_lab::judgement::{Compared, FigureEffects, Found, Repeats, Shift, SpanShift};
use dyntick_profile::Difference;
use dyntick_report::{Axis, Block, Cell, Column, Plot, Series, Shape, Table, numbers, row};
use dyntick_stats::{Factor, Factorial, Histogram, LevelMean, Term, TwoWay};
use dyntick_study::claims::{DIGITS, number};

/// Terms with a smaller share are summed up.
const LEAST_SHARE: f64 = 0.001;

/// An interaction of two with a larger share is shown in words.
const NOTABLE_SHARE: f64 = 0.01;

/// The words for an effect that is not larger than what irrelevant changes make of it.
pub const NO_EFFECT: &str = "no effect shown";

/// The number of rows of a table, and of interactions in words: a matrix of real options has a few.
const MOST_ROWS: usize = 40;
const MOST_PAIRS: usize = 10;

/// All effects as one table for the short report: a row for each level but the base, a column for each figure. It has
/// both values and their difference if these fit next to each other, else the differences of as many figures as fit.
pub fn table(effects: &[Found], width: usize) -> Option<Table> {
    let factors = &effects.first()?.factors;
    let alike: Vec<&Found> = effects.iter().filter(|found| found.factors == *factors).collect();
    let figures: Vec<(&Found, &FigureEffects)> =
        alike.iter().flat_map(|found| found.figures.iter().map(|figure| (*found, figure))).collect();
    if figures.iter().all(|(_, figure)| figure.factorial.is_none()) {
        return None;
    }
    let all = effects.iter().map(|found| found.figures.len()).sum::<usize>();
    let with = |shown: usize, both: bool| of_figures(factors, &figures[..shown], both, all - shown);
    let fits = |table: &Table| dyntick_report::is_beside(table, width);
    let wide = [with(figures.len(), true)].into_iter();
    let narrow = (1..=figures.len()).rev().map(|shown| with(shown, false));
    wide.chain(narrow).find(fits).or_else(|| Some(with(figures.len().min(1), false)))
}

/// The table of these figures; `left_out` others have no place.
fn of_figures(
    factors: &[Factor],
    figures: &[(&Found, &FigureEffects)],
    both: bool,
    left_out: usize,
) -> Table {
    let several = figures.iter().any(|(found, _)| found.case != figures[0].0.case);
    let header = |(found, figure): &(&Found, &FigureEffects)| {
        let name = named(&figure.figure);
        let name = if several { format!("{}: {name}", found.case) } else { name };
        Column::figure(&name, if both { &figure.unit } else { "" })
    };
    let mut rows = Vec::new();
    for factor in factors {
        let Some((base, levels)) = factor.levels.split_first() else { continue };
        for level in levels {
            let cells = figures.iter().map(|(_, figure)| effect(figure, factor, level, both));
            rows.push(row![option(&factor.name, level), base.as_str()].into_iter().chain(cells).collect());
        }
    }
    let mut notes = Vec::new();
    if figures.iter().any(|(_, figure)| figure.factorial.is_none()) {
        notes.push("?: inconclusive, because combinations are missing.".to_owned());
    }
    if left_out > 0 {
        notes.push(format!("and {}", numbers::counted(left_out as u64, "more figure")));
    }
    let columns = [Column::text("option"), Column::text("instead of")].into_iter();
    Table { columns: columns.chain(figures.iter().map(header)).collect(), rows, notes, ..Table::default() }
}

/// The effect of a level on a figure: `0.97 -> 1.85 (+90.7 %)`.
fn effect(figure: &FigureEffects, factor: &Factor, level: &str, both: bool) -> Cell {
    let Some(factorial) = &figure.factorial else { return "?".into() };
    let is_it = |mean: &&LevelMean| mean.factor == factor.name && mean.level == level;
    let Some(found) = factorial.levels.iter().find(is_it) else { return Cell::Unknown };
    let base = found.mean - found.difference;
    if are_alike(base, found.mean) {
        return NO_DIFFERENCE.into();
    }
    if figure.is_drowned(found) {
        return NO_EFFECT.into();
    }
    let change = relative(found.difference, found.percent);
    if both { format!("{} -> {} ({change})", number(base), number(found.mean)).into() } else { change }
}

/// A section for each `[[effects]]`.
pub fn blocks(effects: &[Found]) -> Vec<Block> {
    effects.iter().flat_map(section).collect()
}

fn section(found: &Found) -> Vec<Block> {
    let heading = Block::Heading(found.title.clone());
    [heading].into_iter().chain(found.figures.iter().flat_map(|figure| of_figure(found, figure))).collect()
}

fn of_figure(found: &Found, figure: &FigureEffects) -> Vec<Block> {
    let name = capital(&named(&figure.figure));
    let Some(factorial) = &figure.factorial else {
        let more = match figure.more_lacking {
            0 => String::new(),
            more => format!("; and {more} more cells"),
        };
        return vec![Block::Paragraph(format!(
            "{name}: inconclusive, because cells are missing: {}{more}.",
            figure.lacking.join("; ")
        ))];
    };
    let mean = with_unit(factorial.mean, &figure.unit);
    if factorial.equal {
        return vec![Block::Paragraph(format!(
            "{name}: the same in all {} combinations: {mean}.",
            factorial.cells
        ))];
    }
    // The root of the mean square: one cell that differs is seen.
    let spread = (factorial.squares / factorial.cells as f64).sqrt();
    if spread < LEAST_DIFFERENCE * factorial.mean.abs() {
        return vec![Block::Paragraph(format!(
            "{name}: {NO_DIFFERENCE} of 0.1 % between the {} combinations; their mean is {mean}.",
            factorial.cells
        ))];
    }
    let tables = [means(found, figure, factorial, &name), shares(&name, factorial)];
    let notable = factorial.pairs.iter().filter(|pair| share_of(factorial, pair) > NOTABLE_SHARE);
    let words = few(notable.map(|pair| in_words(figure, pair)), MOST_PAIRS);
    tables.into_iter().map(Block::Table).chain(words.into_iter().map(Block::Paragraph)).collect()
}

pub fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + rest.as_str())
}

fn means(found: &Found, figure: &FigureEffects, factorial: &Factorial, name: &str) -> Table {
    let is_base = |level: &LevelMean| {
        let of = |factor: &&Factor| factor.name == level.factor;
        found.factors.iter().find(of).is_some_and(|factor| factor.levels.first() == Some(&level.level))
    };
    let row = |level: &LevelMean| {
        let (difference, percent) = if is_base(level) {
            ("base".into(), Cell::or_blank(None))
        } else if are_alike(level.mean - level.difference, level.mean) {
            (NO_DIFFERENCE.into(), Cell::or_blank(None))
        } else if figure.is_drowned(level) {
            (NO_EFFECT.into(), Cell::or_blank(None))
        } else {
            (
                Cell::signed(Cell::Rounded(level.difference, DIGITS)),
                Cell::known(level.percent.map(|percent| Cell::signed(Cell::Share(percent / 100.0)))),
            )
        };
        row![
            level.factor.clone(),
            level.level.clone(),
            Cell::Rounded(level.mean, DIGITS),
            difference,
            percent,
        ]
    };
    let left_out = factorial.levels.len().saturating_sub(MOST_ROWS);
    let mut notes: Vec<String> = figure.repeats.iter().map(spread).collect();
    if factorial.levels.iter().any(|level| figure.is_drowned(level)) {
        notes
            .push(format!("{NO_EFFECT}: irrelevant changes move the difference by no less than what it is."));
    }
    if left_out > 0 {
        notes.push(format!("and {left_out} more levels; use --format json for all"));
    }
    Table {
        caption: format!("{name}, averaged over the {} combinations of {}.", factorial.cells, found.case),
        columns: vec![
            Column::text("option"),
            Column::text("level"),
            Column::figure("mean", &figure.unit),
            Column::figure("difference", &figure.unit),
            Column::figure("", ""),
        ],
        rows: factorial.levels.iter().take(MOST_ROWS).map(row).collect(),
        notes,
    }
}

fn spread(repeats: &Repeats) -> String {
    let runs = match repeats.runs {
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    format!(
        "A combination is the mean of {runs} runs, whose standard deviation is {}, all together.",
        number(repeats.deviation)
    )
}

/// The largest first; what is below a thousandth is one row.
fn shares(figure: &str, factorial: &Factorial) -> Table {
    let mut terms: Vec<&Term> = factorial.terms.iter().collect();
    terms.sort_by(|a, b| b.share.total_cmp(&a.share));
    let message = terms.iter().take(MOST_ROWS).filter(|term| term.share >= LEAST_SHARE).count();
    let (message, rest) = terms.split_at(message);
    let row = |term: &&Term| row![term.factors.join(" × "), Cell::Share(term.share)];
    let mut rows: Vec<Vec<Cell>> = message.iter().map(row).collect();
    match rest {
        [] => {}
        [only] => rows.push(row(only)),
        rest => {
            let share: f64 = rest.iter().map(|term| term.share).sum();
            rows.push(row![format!("{} others", rest.len()), Cell::Share(share)]);
        }
    }
    Table {
        caption: format!("{figure}: the origin of the differences."),
        columns: vec![Column::text("option, or options together"), Column::figure("of all", "")],
        rows,
        notes: vec![
            "Shares of the sum of squares. A × B is the interaction of A and B: what they do together beyond the sum \
             of their separate effects."
                .to_owned(),
        ],
    }
}

fn share_of(factorial: &Factorial, pair: &TwoWay) -> f64 {
    let term = factorial.terms.iter().find(|term| term.factors == pair.factors);
    term.map_or(0.0, |term| term.share)
}

fn in_words(figure: &FigureEffects, pair: &TwoWay) -> String {
    let largest = &pair.largest;
    let [of_a, of_b] = [0, 1].map(|number| option(&pair.factors[number], &largest.levels[number]));
    let by = match largest.additive {
        0.0 => with_unit(largest.value.abs(), &figure.unit),
        additive => numbers::percent((largest.value / additive).abs()),
    };
    format!(
        "{of_a} and {of_b} do not add up, by {by}: together {}, and {} by their separate effects.",
        with_unit(largest.mean, &figure.unit),
        with_unit(largest.additive, &figure.unit),
    )
}

/// The number of functions that are shown; the others are summed up.
const FUNCTIONS: usize = 15;

/// A section for each comparison.
pub fn comparisons(comparisons: &[Compared]) -> Vec<Block> {
    comparisons.iter().flat_map(comparison).collect()
}

/// The mean instructions of the kinds of spans that comparisons ask for, a row for each; `None` if none asks.
pub fn asked_spans(comparisons: &[Compared], most: usize) -> Option<Table> {
    let asks = comparisons.iter().filter(|compared| !compared.functions.is_empty());
    let row = |(compared, span): (&Compared, &SpanShift)| {
        let variant =
            compared.case.split_once('/').map_or(String::new(), |(_, variant)| format!(", {variant}"));
        row![
            format!("{}{variant}", compared.title),
            Cell::Rounded(span.with, DIGITS),
            Cell::Rounded(span.case, DIGITS),
            change(span.with, span.case),
        ]
    };
    let all: Vec<_> = asks.flat_map(|compared| compared.asked().map(move |span| (compared, span))).collect();
    let more = all.len().saturating_sub(most);
    (!all.is_empty()).then(|| Table {
        columns: vec![
            Column::text("mean instructions"),
            Column::figure("base", ""),
            Column::figure("case", ""),
            Column::figure("more", ""),
        ],
        notes: (more > 0)
            .then(|| format!("and {}", numbers::counted(more as u64, "more row")))
            .into_iter()
            .collect(),
        rows: all.into_iter().take(most).map(row).collect(),
        ..Table::default()
    })
}

fn comparison(compared: &Compared) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(compared.title.clone())];
    if !compared.latency.is_empty() {
        blocks.push(Block::Table(shifts(compared)));
    }
    blocks.extend(compared.histograms.as_ref().map(|pair| Block::Plot(bulk(compared, pair))));
    if !compared.spans.is_empty() {
        blocks.push(Block::Table(spans(compared)));
    }
    let missing =
        |kind: &String| format!("There is no span '{kind}' in {} or in {}.", compared.with, compared.case);
    blocks.extend(compared.missing.iter().map(missing).map(Block::Paragraph));
    for (kind, difference) in &compared.functions {
        blocks.push(Block::Table(functions(kind, difference, compared)));
        blocks.extend(sum(difference, &compared.latency).map(Block::Paragraph));
    }
    blocks
}

fn signed(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:+.1}").replace(".0", "") }
}

fn relative_shift(with: f64, case: f64) -> Cell {
    Cell::known((with != 0.0).then(|| Cell::signed(Cell::Share(case / with - 1.0))))
}

fn change(a: f64, b: f64) -> Cell {
    Cell::signed(Cell::Rounded(b - a, DIGITS))
}

fn shifts(compared: &Compared) -> Table {
    let row = |shift: &Shift| {
        row![
            shift.point.clone(),
            Cell::Fixed(shift.with, 0),
            Cell::Fixed(shift.case, 0),
            change(shift.with, shift.case),
            relative_shift(shift.with, shift.case),
        ]
    };
    Table {
        caption: format!(
            "Latency: {} against {}, at each quantile of all wake-ups below the histogram's limit.",
            compared.case, compared.with
        ),
        columns: vec![
            Column::text("quantile"),
            Column::figure(&compared.with, "ns"),
            Column::figure(&compared.case, "ns"),
            Column::figure("shift", "ns"),
            Column::figure("", ""),
        ],
        rows: compared.latency.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// The part of both distributions in which nearly all wake-ups are.
fn bulk(compared: &Compared, histograms: &[Histogram; 2]) -> Plot {
    const SHARE: f64 = 0.99;
    let end = histograms.iter().filter_map(|histogram| histogram.quantile(SHARE)).max().unwrap_or(0);
    let bin = histograms.iter().map(latency::bin_of).max().unwrap_or(1);
    let series = |(name, histogram): (&String, &Histogram)| Series {
        name: name.clone(),
        points: latency::steps(&histogram.iter().filter(|(ns, _)| *ns <= end).collect(), bin),
    };
    Plot {
        caption: format!("The fastest {} % of the wake-ups, all threads together.", SHARE * 100.0),
        x: Axis::linear("latency", "ns"),
        y: Axis::linear("wake-ups", ""),
        shape: Shape::Steps,
        series: [&compared.with, &compared.case].into_iter().zip(histograms).map(series).collect(),
    }
}

fn spans(compared: &Compared) -> Table {
    let row = |span: &SpanShift| {
        row![
            span.kind.clone(),
            Cell::Count(span.counts.0),
            Cell::Count(span.counts.1),
            Cell::Rounded(span.with, DIGITS),
            Cell::Rounded(span.case, DIGITS),
            change(span.with, span.case),
        ]
    };
    Table {
        caption: format!(
            "Kernel entry points, mean instructions: {} (a) and {} (b).",
            compared.with, compared.case
        ),
        columns: vec![
            Column::text("entry point"),
            Column::figure("spans a", ""),
            Column::figure("spans b", ""),
            Column::figure("a", ""),
            Column::figure("b", ""),
            Column::figure("b - a", ""),
        ],
        rows: compared.spans.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn functions(kind: &str, difference: &Difference, compared: &Compared) -> Table {
    let cells = |name: &str, a: f64, b: f64| {
        row![name, Cell::Rounded(a, DIGITS), Cell::Rounded(b, DIGITS), change(a, b)]
    };
    let (message, rest) = difference.largest(FUNCTIONS);
    let mut rows: Vec<Vec<Cell>> = message.iter().map(|row| cells(&row.function, row.a, row.b)).collect();
    rows.extend(rest.map(|rest| cells(&format!("{} other functions", rest.functions), rest.a, rest.b)));
    let same: f64 = difference.rows.iter().filter(|row| row.more == 0.0).map(|row| row.a).sum();
    rows.push(cells("functions that did not change", same, same));
    rows.push(cells("total", difference.a, difference.b));
    Table {
        caption: format!(
            "{kind}: mean instructions of each function itself, {} (a) and {} (b), largest difference first.",
            compared.with, compared.case
        ),
        columns: vec![
            Column::text("kernel function"),
            Column::figure("a", ""),
            Column::figure("b", ""),
            Column::figure("b - a", ""),
        ],
        rows,
        notes: Vec::new(),
    }
}

/// The part of cyclictest's shift that the functions explain.
fn sum(difference: &Difference, latency: &[Shift]) -> Option<String> {
    let mean = latency.iter().find(|shift| shift.point == "mean")?;
    let (explained, seen) = (difference.b - difference.a, mean.case - mean.with);
    (seen != 0.0).then(|| {
        format!(
            "The functions' differences add up to {} instructions, which are the same number of ns of virtual time; \
             cyclictest's mean changed by {} ns between the same two runs: {:.1} % of it is explained.",
            signed(explained),
            signed(seen),
            explained / seen * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_report::{Document, html, mail, terminal};
    use dyntick_stats::factorial;

    fn factor(name: &str, levels: &[&str]) -> Factor {
        Factor { name: name.into(), levels: levels.iter().map(|level| (*level).to_owned()).collect() }
    }

    fn figure(name: &str, factorial: Option<Factorial>, lacking: &[&str]) -> FigureEffects {
        FigureEffects {
            figure: name.into(),
            unit: "W".into(),
            factorial,
            repeats: None,
            perturbed: Vec::new(),
            lacking: lacking.iter().map(|text| (*text).to_owned()).collect(),
            more_lacking: 0,
        }
    }

    fn found() -> Found {
        let factors = vec![factor("governor", &["menu", "teo", "ladder"]), factor("hz", &["250", "1000"])];
        let taken = |values: &[f64]| Some(factorial(&factors, values).unwrap());
        let repeats = Some(Repeats { runs: (2, 3), deviation: 0.25 });
        let figures = vec![
            FigureEffects {
                repeats,
                ..figure("power:total", taken(&[10.0, 11.0, 8.0, 9.0, 10.0, 30.0]), &[])
            },
            figure("power:cores", taken(&[3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), &[]),
            figure("power:package", taken(&[7.5; 6]), &[]),
            FigureEffects { more_lacking: 2, ..figure("ticks", None, &["idle/menu/250 was not run"]) },
        ];
        Found {
            title: "What each option does".into(),
            case: "idle".into(),
            factors: factors.clone(),
            figures,
        }
    }

    #[test]
    fn effects_are_printed() {
        let document = Document { title: "t".into(), blocks: blocks(&[found()]), ..Document::default() };
        insta::assert_snapshot!(terminal(&document, 100, false));
        let html = html(&document);
        let mail = mail(&document).split_whitespace().collect::<Vec<_>>().join(" ").replace(" * ", " × ");
        for text in ["governor × hz", "the same in all 6 combinations: 7.5 W", "idle/menu/250 was not run"] {
            assert!(html.contains(text) && mail.contains(text), "{text} in {mail}");
        }
    }

    #[test]
    fn differences_below_a_thousandth_have_no_shares() {
        let factors = vec![factor("governor", &["menu", "teo"]), factor("hz", &["250", "1000"])];
        let of = |values: &[f64]| {
            let figures = vec![figure("script_s", Some(factorial(&factors, values).unwrap()), &[])];
            Found { title: "t".into(), case: "idle".into(), factors: factors.clone(), figures }
        };
        let noise = blocks(&[of(&[612.925, 612.8, 613.12, 612.9])]);
        let Block::Paragraph(text) = &noise[1] else { panic!("{noise:?}") };
        assert_eq!(text, "Script: no difference of 0.1 % between the 4 combinations; their mean is 613 W.");
        // Both main effects are none, and the combinations differ.
        let crossed = blocks(&[of(&[1.0, 2.0, 2.0, 1.0])]);
        let text = terminal(&Document { blocks: crossed, ..Document::default() }, 100, false);
        assert!(
            text.contains("governor × hz") && text.contains("menu and hz 250 do not add up, by 33.3 %"),
            "{text}"
        );
    }

    #[test]
    fn all_effects_are_one_table() {
        let document = |width| Document {
            blocks: table(&[found()], width).into_iter().map(Block::Table).collect(),
            ..Document::default()
        };
        let texts = [100, 80, 40].map(|width| terminal(&document(width), width, false));
        insta::assert_snapshot!(texts.concat());
    }
}
