// SPDX-License-Identifier: GPL-2.0-only
//! The calls of the functions that a case names, as a histogram by powers of two for each CPU.

use super::titles::Titled;
use dyntick_profile::Kind;
use dyntick_report::{Block, Cell, Column, Table, row};
use dyntick_stats::Histogram;
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
    let kinds: Vec<(String, u64, &Kind)> = runs.iter().flat_map(|run| calls(name, run)).collect();
    let octaves: BTreeSet<u64> =
        kinds.iter().flat_map(|(.., kind)| of(kind).into_iter().map(|(from, _)| from)).collect();
    let range = |from: u64| match from {
        1 => "0-1".to_owned(),
        _ => format!("{from}-{}", 2 * from - 1),
    };
    let row = |(title, cpu, kind): &(String, u64, &Kind)| -> Option<Vec<Cell>> {
        let summary = kind.summary()?;
        let shares = of(kind);
        let share = |from: &u64| {
            let found = shares.iter().find(|(octave, _)| octave == from);
            Cell::known(found.map(|(_, calls)| Cell::Share(*calls as f64 / summary.count as f64)))
        };
        let first =
            row![title.clone(), cpu.to_string(), Cell::Count(summary.count), Cell::Fixed(summary.mean, 1)];
        Some(first.into_iter().chain(octaves.iter().map(share)).collect())
    };
    let rows: Vec<Vec<Cell>> = kinds.iter().filter_map(row).collect();
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
fn calls<'r>(name: &str, run: &Titled<'r>) -> Vec<(String, u64, &'r Kind)> {
    let Some(phase) = run.run().profile.as_ref().and_then(|profile| profile.last_phase()) else {
        return Vec::new();
    };
    let kind = format!("{name}()");
    let named = phase.profile.calls.iter().filter(|(key, _)| key.kind == kind);
    named.map(|(key, kind)| (run.title().to_owned(), key.cpu, kind)).collect()
}

/// The number of calls by their instructions, in powers of two.
fn of(kind: &Kind) -> Vec<(u64, u64)> {
    kind.spans.iter().map(|span| (*span, 1)).collect::<Histogram>().octaves().iter().collect()
}
