// SPDX-License-Identifier: GPL-2.0-only
//! What the qperf of each run printed.

use super::title_of_run;
use dyntick_lab::store::Run;
use dyntick_report::{Block, Column, Table};
use dyntick_study::claims::number;
use dyntick_study::figure::table::QPERF;

/// A row for each run in which qperf ran; nothing where there is none.
pub fn blocks(runs: &[&Run]) -> Vec<Block> {
    let of_qperf = |run: &&Run| run.observations.iter().any(|row| row.figure == QPERF.name);
    let runs: Vec<&Run> = runs.iter().filter(|run| of_qperf(run)).copied().collect();
    if runs.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Results of qperf".into()), Block::Table(table(&runs))]
}

fn table(runs: &[&Run]) -> Table {
    let mut tests: Vec<(&str, &str)> = Vec::new();
    for row in runs.iter().flat_map(|run| run.observations.iter()).filter(|row| row.figure == QPERF.name) {
        if !tests.contains(&(&row.key, &row.unit)) {
            tests.push((&row.key, &row.unit));
        }
    }
    let row = |run: &&Run| {
        let value = |test: &str| run.observations.of(QPERF.name, test).next();
        let values = tests.iter().map(|(test, _)| value(test).map_or("–".into(), |row| number(row.value)));
        [title_of_run(run)].into_iter().chain(values).collect()
    };
    let columns = tests.iter().map(|(test, unit)| Column::figure(test, unit));
    Table {
        caption: "As printed by qperf; a latency is half of the round-trip time.".into(),
        columns: [Column::text("case")].into_iter().chain(columns).collect(),
        rows: runs.iter().map(row).collect(),
        notes: Vec::new(),
    }
}
