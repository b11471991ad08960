// SPDX-License-Identifier: GPL-2.0-only
//! Two kernels or settings of the command line side by side, in short: the figures that differ.

use super::figures::are_alike;
use super::material::Material;
use super::measures::Measure;
use super::titles::Titled;
use super::variants;
use dyntick_lab::store::Run;
use dyntick_report::{Cell, Column, Table};
use dyntick_stats::Summary;
use dyntick_study::Case;

/// One figure of one case on both sides.
pub struct Row {
    /// The title of the case.
    pub case: String,
    /// The figure as a row of the table has it.
    figure: String,
    /// The name of the figure, without its unit.
    pub name: String,
    /// The unit.
    pub unit: &'static str,
    /// The values.
    pub cells: [Cell; 2],
    difference: Option<String>,
    alike: bool,
}

impl Row {
    /// Returns true if the difference is worth a word, or not known.
    pub fn differs(&self) -> bool {
        !self.alike
    }
}

/// All figures that are known on one side at least; none where a report does not set two sides next to each other.
pub fn rows(material: &Material<'_>, measures: &[Measure]) -> Vec<Row> {
    let study = material.study;
    let Some(compared) = study.compared.as_ref().filter(|compared| compared.levels.len() == 2) else {
        return Vec::new();
    };
    let [first, second] = [&compared.levels[0], &compared.levels[1]];
    let of = |case: &Case, measure: &Measure| {
        let runs = material.runs.iter().map(Titled::run).filter(|run| run.plan.case.id == case.id);
        measure.of(runs.collect::<Vec<&Run>>())
    };
    let mut rows = Vec::new();
    for case in study.cases.iter().filter(|case| case.labels().any(|label| label == first)) {
        let Some(other) = variants::with(study, compared, case, second) else { continue };
        let title = variants::title_without(material.titles, case, first);
        let of_measure = |measure| row(&title, measure, [of(case, measure), of(other, measure)]);
        rows.extend(measures.iter().filter_map(of_measure));
    }
    rows
}

fn row(title: &str, measure: &Measure, values: [Option<Summary>; 2]) -> Option<Row> {
    let [a, b] = &values;
    if a.is_none() && b.is_none() {
        return None;
    }
    let both = a.as_ref().zip(b.as_ref());
    let (name, unit) = measure.name_and_unit();
    Some(Row {
        name,
        unit,
        case: title.to_owned(),
        figure: measure.name(),
        cells: [measure.cell(a.as_ref()), measure.cell(b.as_ref())],
        difference: both.map(|(a, b)| measure.difference(a.mean, b.mean)),
        alike: both.is_some_and(|(a, b)| are_alike(a.mean, b.mean)),
    })
}

/// The table of the figures that differ, at most `most` rows; none where there are no two sides.
pub fn table(material: &Material<'_>, measures: &[Measure], most: usize) -> Option<Table> {
    let compared = material.study.compared.as_ref().filter(|compared| compared.levels.len() == 2)?;
    let rows = rows(material, measures);
    let differing: Vec<&Row> = rows.iter().filter(|row| row.differs()).collect();
    let figures = compared.levels.iter().map(|level| Column::figure(level, ""));
    let columns = [Column::text("case"), Column::text("figure")].into_iter().chain(figures);
    let cells = |row: &Row, is_first: bool| {
        let case = if is_first { row.case.clone() } else { String::new() };
        let difference = Cell::known(row.difference.clone().map(Cell::Text));
        [vec![case.into(), row.figure.clone().into()], row.cells.to_vec(), vec![difference]].concat()
    };
    let mut shown: Vec<Vec<Cell>> = Vec::new();
    let mut last = None;
    for row in differing.iter().take(most) {
        shown.push(cells(row, last != Some(&row.case)));
        last = Some(&row.case);
    }
    let alike = rows.len() - differing.len();
    let left_out = differing.len().saturating_sub(most);
    let notes = [(left_out, "more that differ"), (alike, "without a difference of 0.1 %")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"));
    let notes: Vec<String> = notes.collect();
    Some(Table {
        columns: columns.chain([Column::figure("difference", "")]).collect(),
        rows: shown,
        notes: if notes.is_empty() {
            notes
        } else {
            vec![format!("Figures left out: {}.", notes.join(", "))]
        },
        ..Table::default()
    })
    .filter(|table| !(table.rows.is_empty() && table.notes.is_empty()))
}
