// SPDX-License-Identifier: GPL-2.0-only
//! The effect of each option by itself and of several together, for a matrix whose cells were all run.

use super::few;
use dyntick_lab::effects::{FigureEffects, Found, Repeats};
use dyntick_report::{Block, Cell, Column, Table, row};
use dyntick_stats::{Factor, Factorial, LevelMean, Term, TwoWay};
use dyntick_study::claims::number;

/// Significant digits of a mean.
const DIGITS: i32 = 6;

/// Terms with a smaller share are summed up.
const LEAST_SHARE: f64 = 0.001;

/// An interaction of two with a larger share is shown in words.
const NOTABLE_SHARE: f64 = 0.01;

/// The number of rows of a table, and of interactions in words: a matrix of real options has a few.
const MOST_ROWS: usize = 40;
const MOST_PAIRS: usize = 10;

/// A section for each `[[effects]]`.
pub fn blocks(effects: &[Found]) -> Vec<Block> {
    effects.iter().flat_map(section).collect()
}

fn section(found: &Found) -> Vec<Block> {
    let heading = Block::Heading(found.title.clone());
    [heading].into_iter().chain(found.figures.iter().flat_map(|figure| of_figure(found, figure))).collect()
}

fn of_figure(found: &Found, figure: &FigureEffects) -> Vec<Block> {
    let name = &figure.figure;
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
    if factorial.equal {
        let value = with_unit(number(factorial.mean), &figure.unit);
        return vec![Block::Paragraph(format!(
            "{name}: the same in all {} cells: {value}.",
            factorial.cells
        ))];
    }
    let tables = [means(found, figure, factorial), shares(name, factorial)];
    let notable = factorial.pairs.iter().filter(|pair| share_of(factorial, pair) > NOTABLE_SHARE);
    let words = few(notable.map(|pair| in_words(figure, pair)), MOST_PAIRS);
    tables.into_iter().map(Block::Table).chain(words.into_iter().map(Block::Paragraph)).collect()
}

fn with_unit(number: String, unit: &str) -> String {
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

fn means(found: &Found, figure: &FigureEffects, factorial: &Factorial) -> Table {
    let is_base = |level: &LevelMean| {
        let of = |factor: &&Factor| factor.name == level.factor;
        found.factors.iter().find(of).is_some_and(|factor| factor.levels.first() == Some(&level.level))
    };
    let row = |level: &LevelMean| {
        let (difference, percent) = if is_base(level) {
            ("base".into(), Cell::or_blank(None))
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
    if left_out > 0 {
        notes.push(format!("and {left_out} more levels; use --format json for all"));
    }
    Table {
        caption: format!(
            "{}: mean of all cells of {} with each level, {} cells in all.",
            figure.figure, found.case, factorial.cells
        ),
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
        "A cell is the mean of {runs} runs; the runs of a cell have a standard deviation of {}, all cells together.",
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
        caption: format!("{figure}: origin of the differences between the cells."),
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
    let ([a, b], largest) = (&pair.factors, &pair.largest);
    let [of_a, of_b] = &largest.levels;
    let less = if largest.value < 0.0 { "less" } else { "more" };
    format!(
        "{a} × {b}: with {a} {of_a} and {b} {of_b} together {} is {}, {} {less} than the {} of both effects added.",
        figure.figure,
        with_unit(number(largest.mean), &figure.unit),
        number(largest.value.abs()),
        number(largest.additive),
    )
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
        for text in ["governor × hz", "the same in all 6 cells: 7.5 W", "idle/menu/250 was not run"] {
            assert!(html.contains(text) && mail.contains(text), "{text} in {mail}");
        }
    }
}
