// SPDX-License-Identifier: GPL-2.0-only
//! The calls of the functions that a case names, as a histogram by powers of two for each CPU.

use super::titles::Titled;
use dyntick_lab::profiles::Calls;
use dyntick_report::{Block, Cell, Column, Table, row};
use dyntick_study::claims::DIGITS;
use std::collections::BTreeSet;

/// A table for each function; nothing where no case names one.
pub fn blocks(runs: &[Titled<'_>]) -> Vec<Block> {
    let named: BTreeSet<&str> =
        runs.iter().flat_map(|run| &run.plan.case.calls).map(String::as_str).collect();
    let tables: Vec<Block> =
        named.into_iter().filter_map(|name| table(name, runs)).map(Block::Table).collect();
    if tables.is_empty() {
        Vec::new()
    } else {
        [Block::Heading("Calls of functions".into())].into_iter().chain(tables).collect()
    }
}

fn table(name: &str, runs: &[Titled<'_>]) -> Option<Table> {
    let all: Vec<(&str, &Calls)> = runs.iter().flat_map(|run| calls(name, run)).collect();
    let octaves: BTreeSet<u64> =
        all.iter().flat_map(|(_, calls)| calls.octaves.iter().map(|(from, _)| from)).collect();
    let range = |from: u64| match from {
        1 => "0-1".to_owned(),
        _ => format!("{from}-{}", 2 * from - 1),
    };
    let row = |(title, calls): &(&str, &Calls)| -> Vec<Cell> {
        let share = |from: &u64| {
            let found = calls.octaves.iter().find(|(octave, _)| octave == from);
            Cell::known(found.map(|(_, count)| Cell::Share(count as f64 / calls.count as f64)))
        };
        let first =
            row![*title, calls.cpu.to_string(), Cell::Count(calls.count), Cell::Rounded(calls.mean, DIGITS)];
        first.into_iter().chain(octaves.iter().map(share)).collect()
    };
    let rows: Vec<Vec<Cell>> = all.iter().filter(|(_, calls)| calls.count > 0).map(row).collect();
    let first = [
        Column::text("case"),
        Column::figure("CPU", ""),
        Column::figure("calls", ""),
        Column::figure("mean", "instructions"),
    ];
    (!rows.is_empty()).then(|| Table {
        caption: format!("{name}(): instructions from its first until the return to its caller, without interrupts in between"),
        columns: first.into_iter().chain(octaves.iter().map(|from| Column::figure(&range(*from), ""))).collect(),
        rows,
        notes: Vec::new(),
    })
}

/// The calls on each CPU of a run.
fn calls<'r>(name: &str, run: &'r Titled<'_>) -> impl Iterator<Item = (&'r str, &'r Calls)> {
    let function = format!("{name}()");
    let all = run.analysis.spans.iter().flat_map(|spans| &spans.calls);
    all.filter(move |calls| calls.function == function).map(|calls| (run.title(), calls))
}
