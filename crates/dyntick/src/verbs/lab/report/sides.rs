// SPDX-License-Identifier: GPL-2.0-only
//! Two or more kernels, command lines or settings of the command line: each case with all of them, side by side, in
//! full and in short.

use super::measures::{Material, Measure, NO_DIFFERENCE, are_alike};
use super::titles::{Titled, Titles};
use dyntick_lab::lab::CaseResult;
use dyntick_lab::lookup::RunFigures;
use dyntick_lab::store::Run;
use dyntick_model::digits;
use dyntick_report::{Block, Cell, Column, Table};
use dyntick_stats::{Factor, Summary};
use dyntick_study::claims::{DIGITS, Figures, number};
use dyntick_study::figure::table::{INTERRUPTED_NS, INTERRUPTIONS, LOCAL_TIMER_PER_S, SCRIPT_S, TICKS_PER_S};
use dyntick_study::{Case, Study};

/// One figure of one case on all sides.
pub struct Row {
    /// The title of the case.
    pub case: String,
    /// The figure as a row of the table has it.
    figure: String,
    /// The name of the figure, without its unit.
    pub name: String,
    /// The unit.
    pub unit: String,
    /// The values.
    pub cells: Vec<Cell>,
    /// The difference of two sides; none of more.
    difference: Option<String>,
    /// The distance of the least from the most, as a share of the most; more than 1 where not all are known.
    pub change: f64,
    alike: bool,
}

impl Row {
    /// Returns true if the difference is worth a word, or not known.
    pub fn differs(&self) -> bool {
        !self.alike
    }
}

/// All figures that are known on one side at least. Of each case those that claims judge come first. There are none
/// where a report does not set sides next to each other.
pub fn rows(material: &Material<'_>, measures: &[&Measure]) -> Vec<Row> {
    let study = material.study;
    let Some(compared) = &study.compared else { return Vec::new() };
    let first = &compared.levels[0];
    let of = |case: &Case, measure: &Measure| {
        let runs = material.runs.iter().map(Titled::run).filter(|run| run.plan.case.id == case.id);
        measure.of(runs.collect::<Vec<&Run>>())
    };
    let judged = material.judged(measures);
    let is_judged = |measure: &Measure| judged.iter().any(|judged| std::ptr::eq(*judged, measure));
    let mut measures = measures.to_vec();
    measures.sort_by_key(|measure| !is_judged(measure));
    let mut rows = Vec::new();
    for case in study.cases.iter().filter(|case| case.labels().any(|label| label == first)) {
        let sides = compared.levels.iter().map(|level| with(study, compared, case, level));
        let Some(sides) = sides.collect::<Option<Vec<&Case>>>() else { continue };
        let title = title_without(material.titles, case, first);
        let of_measure = |measure: &&Measure| {
            row(&title, measure, &sides.iter().map(|side| of(side, measure)).collect::<Vec<_>>())
        };
        rows.extend(measures.iter().filter_map(of_measure));
    }
    rows
}

fn row(title: &str, measure: &Measure, values: &[Option<Summary>]) -> Option<Row> {
    let known: Vec<&Summary> = values.iter().flatten().collect();
    let (first, others) = known.split_first()?;
    let is_complete = known.len() == values.len();
    let sizes = || known.iter().map(|value| value.mean.abs());
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let (name, unit) = measure.name_and_unit();
    Some(Row {
        name,
        unit: unit.to_owned(),
        case: title.to_owned(),
        figure: measure.name(),
        cells: values.iter().map(|value| measure.cell(value.as_ref())).collect(),
        difference: match others {
            [other] if values.len() == 2 && first.mean != other.mean && are_alike(first.mean, other.mean) => {
                Some(NO_DIFFERENCE.to_owned())
            }
            [other] if values.len() == 2 => Some(measure.difference(first.mean, other.mean)),
            _ => None,
        },
        change: if !is_complete {
            2.0
        } else if most > 0.0 {
            (most - least) / most
        } else {
            0.0
        },
        alike: is_complete && others.iter().all(|other| are_alike(first.mean, other.mean)),
    })
}

/// Returns true if there are sides, and no figure of them differs.
pub fn are_all_alike(material: &Material<'_>, measures: &[&Measure]) -> bool {
    material.study.compared.is_some() && !rows(material, measures).iter().any(Row::differs)
}

/// The table of the figures that differ, at most `most` rows; if none does, of those that are alike. None where there
/// are no sides.
pub fn table(material: &Material<'_>, measures: &[&Measure], most: usize) -> Option<Table> {
    let compared = material.study.compared.as_ref()?;
    let rows = rows(material, measures);
    let (differing, alike): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.differs());
    let (shown, others, what) = if differing.is_empty() {
        (alike, 0, "more without a difference")
    } else {
        (differing, alike.len(), "more that differ")
    };
    let is_pair = compared.levels.len() == 2;
    let figures = compared.levels.iter().map(|level| Column::figure(level, ""));
    let columns = [Column::text("case"), Column::text("figure")].into_iter().chain(figures);
    let cells = |(at, row): (usize, &&Row)| {
        let is_first = at == 0 || shown[at - 1].case != row.case;
        let case = if is_first { row.case.clone() } else { String::new() };
        let difference = is_pair.then(|| Cell::known(row.difference.clone().map(Cell::Text)));
        let mut cells = vec![Cell::from(case), row.figure.clone().into()];
        cells.extend(row.cells.iter().cloned().chain(difference));
        cells
    };
    let left_out = [(shown.len().saturating_sub(most), what), (others, "without a difference of 0.1 %")];
    let left_out = left_out.into_iter().filter(|(count, _)| *count > 0);
    let left_out: Vec<String> = left_out.map(|(count, what)| format!("{count} {what}")).collect();
    (!shown.is_empty()).then(|| Table {
        columns: columns.chain(is_pair.then(|| Column::figure("difference", ""))).collect(),
        rows: shown.iter().enumerate().take(most).map(cells).collect(),
        notes: (!left_out.is_empty())
            .then(|| format!("Figures left out: {}.", left_out.join(", ")))
            .into_iter()
            .collect(),
        ..Table::default()
    })
}

/// A table of all cases, where the command line gave something twice.
pub fn side_by_side(study: &Study, titles: &Titles, results: &[CaseResult]) -> Vec<Block> {
    let Some(compared) = &study.compared else { return Vec::new() };
    let rows = side_by_side_rows(study, titles, compared, &RunFigures(results));
    if rows.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Side by side".into()), Block::Table(side_by_side_table(compared, rows))]
}

fn side_by_side_table(compared: &Factor, rows: Vec<Vec<String>>) -> Table {
    let mut columns = vec![Column::text("case"), Column::text("figure")];
    columns.extend(compared.levels.iter().map(|level| Column::figure(level, "")));
    let is_pair = compared.levels.len() == 2;
    columns.extend(is_pair.then(|| Column::figure("difference", "")));
    let notes = [
        "± is the standard deviation of repeated runs; without it there is one run of each.",
        "?: events were lost, or the host took time from the CPU; see how it was measured.",
    ];
    Table {
        caption: format!("The measured CPUs of each case with {}.", compared.levels.join(" and with ")),
        columns,
        rows: rows.into_iter().map(|row| row.into_iter().map(Cell::from).collect()).collect(),
        notes: notes.map(str::to_owned).to_vec(),
    }
}

fn side_by_side_rows(
    study: &Study,
    titles: &Titles,
    compared: &Factor,
    figures: &dyn Figures,
) -> Vec<Vec<String>> {
    let first = |case: &&Case| case.labels().any(|label| label == compared.levels[0]);
    let of_case = |case: &Case| {
        let cases: Vec<Option<&Case>> =
            compared.levels.iter().map(|level| with(study, compared, case, level)).collect();
        let names = figures_of(study, case);
        let title = title_without(titles, case, &compared.levels[0]);
        names.iter().filter_map(|name| side_by_side_row(&title, name, &cases, figures)).collect::<Vec<_>>()
    };
    study.cases.iter().filter(first).flat_map(of_case).collect()
}

/// The case that differs from this one, which has the first level, in the level alone.
pub fn with<'s>(study: &'s Study, compared: &Factor, case: &Case, level: &str) -> Option<&'s Case> {
    let labels: Vec<&str> =
        case.labels().map(|label| if label == compared.levels[0] { level } else { label }).collect();
    study.cases.iter().find(|other| other.name == case.name && other.labels().eq(labels.iter().copied()))
}

/// The figures that are shown of a case: the usual ones, and those that the study's claims are about.
fn figures_of<'s>(study: &'s Study, case: &Case) -> Vec<&'s str> {
    let usual = [&TICKS_PER_S, &LOCAL_TIMER_PER_S, &INTERRUPTIONS, &INTERRUPTED_NS, &SCRIPT_S]
        .map(|figure| figure.name);
    let checks = study.claims.iter().flat_map(|claim| claim.checks.iter().chain(&claim.evidence));
    let claimed = checks.filter(|check| case.answers_to(&check.case)).map(|check| check.figure.as_str());
    let mut names: Vec<&str> = Vec::new();
    for name in usual.into_iter().chain(claimed) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// One figure; none where no run has it, and where all say that nothing happened.
fn side_by_side_row(
    title: &str,
    name: &str,
    cases: &[Option<&Case>],
    figures: &dyn Figures,
) -> Option<Vec<String>> {
    let summary = |case: &Option<&Case>| Summary::of(&figures.get((*case)?, name, None)?);
    let summaries: Vec<Option<Summary>> = cases.iter().map(summary).collect();
    if summaries.iter().flatten().all(|summary| summary.mean == 0.0) {
        return None;
    }
    let shown = |(summary, case): (&Option<Summary>, &Option<&Case>)| {
        let in_doubt = case.is_some_and(|case| figures.doubt(case, name, None).is_some());
        let mark = if in_doubt { " ?" } else { "" };
        summary.as_ref().map_or("–".to_owned(), |summary| mean_cell(summary) + mark)
    };
    let mut row = vec![title.to_owned(), name.to_owned()];
    row.extend(summaries.iter().zip(cases).map(shown));
    if let [a, b] = &summaries[..] {
        let difference = a.as_ref().zip(b.as_ref()).map(|(a, b)| excess(a.mean, b.mean));
        row.push(difference.unwrap_or_else(|| "–".to_owned()));
    }
    Some(row)
}

fn mean_cell(summary: &Summary) -> String {
    match summary.count {
        1 => number(summary.mean),
        _ => format!("{} ± {}", number(summary.mean), number(summary.deviation)),
    }
}

/// The difference of the second over the first, also in per cent.
fn excess(a: f64, b: f64) -> String {
    if are_alike(a, b) {
        return NO_DIFFERENCE.to_owned();
    }
    let sign = if b > a { "+" } else { "" };
    let more = digits::difference(a, b, DIGITS);
    if a == 0.0 {
        format!("{sign}{more}")
    } else {
        format!("{sign}{more} ({})", Cell::signed(Cell::Share((b - a) / a.abs())))
    }
}

/// The case's title without the label that is in the columns.
pub fn title_without(titles: &Titles, case: &Case, label: &str) -> String {
    titles.with_labels(case, &case.labels().filter(|other| *other != label).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_study::Given;
    use std::collections::BTreeMap;
    use std::path::Path;

    struct Fixed(BTreeMap<(&'static str, &'static str), Vec<f64>>);

    impl Figures for Fixed {
        fn get(&self, case: &Case, figure: &str, _: Option<u32>) -> Option<Vec<f64>> {
            self.0
                .iter()
                .find(|((id, name), _)| *id == case.id && *name == figure)
                .map(|(_, values)| values.clone())
        }

        fn doubt(&self, case: &Case, _: &str, _: Option<u32>) -> Option<String> {
            case.id.starts_with("b/").then(|| "lost".to_owned())
        }
    }

    #[test]
    fn each_case_with_both_kernels_and_what_changed() {
        let text = "title='t'\nquestion='q'\n[defaults]\nkernel='debian:6.1'\n[[case]]\nname='a'\n[[case]]\nname='b'\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        std::fs::write(&path, text).unwrap();
        let mut given = Given::default();
        given.kernel("debian:6.12", "debian:6.12", None);
        given.kernel("./bzImage", "/src/bzImage", None);
        let (study, _) =
            dyntick_study::shipped::find_given(Path::new(&path), dyntick_study::Size::Scaled, &given)
                .unwrap();
        let figures = Fixed(BTreeMap::from([
            (("a/debian:6.12", "ticks_per_s"), vec![2.0]),
            (("a/bzImage", "ticks_per_s"), vec![1.0]),
            (("a/debian:6.12", "interruptions"), vec![0.0]),
            (("a/bzImage", "interruptions"), vec![0.0]),
            (("a/debian:6.12", "script_s"), vec![2.0451234]),
            (("a/bzImage", "script_s"), vec![2.0450428]),
            (("b/debian:6.12", "script_s"), vec![1.0, 2.0, 3.0]),
        ]));
        let rows = side_by_side_rows(&study, &Titles::of(&study), study.compared.as_ref().unwrap(), &figures);
        assert_eq!(
            rows,
            [
                ["a", "ticks_per_s", "2", "1", "-1 (-50.0 %)"],
                ["a", "script_s", "2.05", "2.05", "no difference"],
                ["b", "script_s", "2 ± 1 ?", "–", "–"],
            ]
        );
    }
}
