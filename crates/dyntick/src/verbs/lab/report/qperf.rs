// SPDX-License-Identifier: GPL-2.0-only
//! The output of each run's qperf.

use super::titles::Titled;
use dyntick_report::{Block, Cell, Column, Table};
use dyntick_study::claims::DIGITS;
use dyntick_study::figure::table::QPERF;

/// A row for each run in which qperf ran; nothing where there is none.
pub fn blocks(runs: &[Titled<'_>]) -> Vec<Block> {
    let of_qperf = |run: &&Titled<'_>| run.analysis.observations.iter().any(|row| row.figure == QPERF.name);
    let runs: Vec<Titled<'_>> = runs.iter().filter(of_qperf).cloned().collect();
    if runs.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Results of qperf".into()), Block::Table(table(&runs))]
}

fn table(runs: &[Titled<'_>]) -> Table {
    let mut tests: Vec<(&str, &str)> = Vec::new();
    for row in
        runs.iter().flat_map(|run| run.analysis.observations.iter()).filter(|row| row.figure == QPERF.name)
    {
        if !tests.contains(&(&row.key, &row.unit)) {
            tests.push((&row.key, &row.unit));
        }
    }
    let row = |run: &Titled<'_>| {
        let value = |test: &str| run.analysis.observations.of(QPERF.name, test).next();
        let values = tests
            .iter()
            .map(|(test, _)| Cell::known(value(test).map(|row| Cell::Rounded(row.value, DIGITS))));
        [run.title().into()].into_iter().chain(values).collect()
    };
    let columns = tests.iter().map(|(test, unit)| Column::figure(test, unit));
    Table {
        caption: "What qperf printed; a latency is half of the round-trip time.".into(),
        columns: [Column::text("case")].into_iter().chain(columns).collect(),
        rows: runs.iter().map(row).collect(),
        notes: Vec::new(),
    }
}
