// SPDX-License-Identifier: GPL-2.0-only
//! The tables of `dyntick lab profile`: the number of spans of each kind and their instructions, and on request their
//! functions.

use dyntick_contract::lab::{Compared, Spans, sorted};
use dyntick_profile::{Difference, Kind};
use dyntick_report::{Block, Cell, Column, Table, row};
use std::collections::BTreeMap;

/// The hint after the first table.
const MORE: &str =
    "Functions: with --kind TEXT those of the kinds that are named so, with --functions those of all.";
const COUNTED_TWICE: &str =
    "A wake-up spans the entries that it consists of and is counted in addition to them.";

const OF_ALL: &str = "The last row is no mean but the sum, without wake-ups and calls.";

/// Returns true for a wake-up and for the calls of one function, which are parts of other spans.
fn is_counted_twice(kind: &str) -> bool {
    kind.starts_with("wake-up ") || kind.ends_with("()")
}

/// One run; of each kind the `functions` largest functions, if any are wanted.
pub fn one_run(spans: &Spans, functions: Option<usize>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (phase, kinds) in &spans.phases {
        blocks.push(Block::Heading(format!("{}, {phase}, CPUs {}", spans.name, spans.cpus)));
        if kinds.values().all(|kind| kind.spans.is_empty()) {
            blocks.push(Block::Paragraph(format!("No span of the {phase} is on these CPUs.")));
            continue;
        }
        blocks.push(Block::Table(overview(kinds)));
        let Some(most) = functions else { continue };
        for (name, kind) in sorted(kinds) {
            let rows = kind.largest_functions().into_iter().take(most);
            blocks.push(Block::Table(Table {
                caption: name.clone(),
                columns: vec![Column::text("function"), Column::figure("mean", "instr.")],
                rows: rows.map(|(function, mean)| row![function, number(mean)]).collect(),
                ..Table::default()
            }));
        }
    }
    blocks.extend(functions.is_none().then(|| Block::Paragraph(MORE.into())));
    blocks
}

fn overview(kinds: &BTreeMap<String, Kind>) -> Table {
    let row = |(name, kind): (&String, &Kind)| {
        let summary = kind.summary()?;
        let [count, min, median, max] =
            [summary.count, summary.min, summary.median, summary.max].map(Cell::Count);
        Some(row![name.as_str(), count, min, median, number(summary.mean), max])
    };
    let figure = |header| Column::figure(header, "instr.");
    Table {
        columns: vec![
            Column::text("span"),
            Column::figure("count", ""),
            figure("min"),
            figure("median"),
            figure("mean"),
            figure("max"),
        ],
        rows: sorted(kinds).into_iter().filter_map(row).collect(),
        notes: vec![COUNTED_TWICE.into()],
        ..Table::default()
    }
}

/// Two runs; of each kind the functions that differ most, if any are wanted.
pub fn two_runs(a: &Spans, b: &Spans, compared: &[Compared], functions: Option<usize>) -> Vec<Block> {
    let side = |sign: &str, spans: &Spans| (sign.to_owned(), format!("{}, CPUs {}", spans.name, spans.cpus));
    let mut blocks = vec![Block::Pairs(vec![side("a", a), side("b", b)])];
    for (phase, _) in &a.phases {
        let of_phase: Vec<&Compared> = compared.iter().filter(|one| one.phase == *phase).collect();
        if !of_phase.is_empty() {
            blocks.push(Block::Table(differences(phase, &of_phase)));
        }
    }
    match functions {
        Some(most) => {
            let table = |one: &Compared| by_function(one.phase, &one.kind, &one.difference, most);
            blocks.extend(compared.iter().map(table).map(Block::Table));
        }
        None => blocks.push(Block::Paragraph(MORE.into())),
    }
    blocks
}

/// The kinds that both have and that differ, and the sum of all.
fn differences(phase: &str, compared: &[&Compared]) -> Table {
    let row = |name: &str, counts: [u64; 2], a: f64, b: f64| {
        row![
            name,
            Cell::Count(counts[0]),
            Cell::Count(counts[1]),
            number(a),
            number(b),
            Cell::signed(number(b - a))
        ]
    };
    // As it is shown, with one decimal.
    let is_equal = |one: &&&Compared| {
        one.counts[0] == one.counts[1] && (one.difference.b - one.difference.a).abs() < 0.05
    };
    let (equal, differing): (Vec<&Compared>, Vec<&Compared>) =
        compared.iter().copied().partition(|one| is_equal(&one));
    let mut rows: Vec<Vec<Cell>> =
        differing.iter().map(|one| row(&one.kind, one.counts, one.difference.a, one.difference.b)).collect();
    if !equal.is_empty() {
        let blank = || Cell::or_blank(None);
        let kinds =
            if equal.len() == 1 { "1 kind equal".to_owned() } else { format!("{} kinds equal", equal.len()) };
        rows.push(row![kinds, blank(), blank(), blank(), blank(), number(0.0)]);
    }
    let counted: Vec<&&Compared> = compared.iter().filter(|one| !is_counted_twice(&one.kind)).collect();
    let counts = [0, 1].map(|side: usize| counted.iter().map(|one| one.counts[side]).sum());
    let all = |side: usize| -> f64 {
        let mean = |one: &Compared| if side == 0 { one.difference.a } else { one.difference.b };
        counted.iter().map(|one| mean(one) * one.counts[side] as f64).sum()
    };
    rows.push(row("instructions of all", counts, all(0), all(1)));
    let figure = |header| Column::figure(header, "instr.");
    Table {
        caption: format!("{phase}: mean instructions of a span"),
        columns: vec![
            Column::text("span"),
            Column::figure("count a", ""),
            Column::figure("count b", ""),
            figure("a"),
            figure("b"),
            figure("b - a"),
        ],
        rows,
        notes: vec![COUNTED_TWICE.into(), OF_ALL.into()],
    }
}

fn by_function(phase: &str, kind: &str, difference: &Difference, most: usize) -> Table {
    let (message, rest) = difference.largest(most);
    let cells = |name: &str, a, b, more| row![name, number(a), number(b), Cell::signed(number(more))];
    let mut rows: Vec<_> = message.iter().map(|row| cells(&row.function, row.a, row.b, row.more)).collect();
    if let Some(rest) = rest {
        let name = format!("({} others that differ)", rest.functions);
        rows.push(cells(&name, rest.a, rest.b, rest.more));
    }
    rows.push(cells("all", difference.a, difference.b, difference.b - difference.a));
    let figure = |header| Column::figure(header, "instr.");
    Table {
        caption: format!("{phase}: {kind}, mean of a span"),
        columns: vec![Column::text("function"), figure("a"), figure("b"), figure("b - a")],
        rows,
        ..Table::default()
    }
}

fn number(value: f64) -> Cell {
    Cell::Fixed(value, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(kinds: &[(&str, &[u64])]) -> Spans {
        let kind = |(name, spans): &(&str, &[u64])| {
            ((*name).to_owned(), Kind { spans: spans.to_vec(), ..Kind::default() })
        };
        Spans {
            name: "case".into(),
            made_here: true,
            cpus: "1".parse().unwrap(),
            phases: vec![("window", BTreeMap::new()), ("script", kinds.iter().map(kind).collect())],
            instructions: vec![0, 0],
        }
    }

    fn captions(blocks: &[Block]) -> Vec<String> {
        let text = |block: &Block| match block {
            Block::Table(table) => Some(format!("{} {}", table.caption, table.rows.len())),
            Block::Paragraph(text) => Some(text.clone()),
            _ => None,
        };
        blocks.iter().filter_map(text).collect()
    }

    #[test]
    fn ways_come_first_and_functions_where_they_are_asked_for() {
        let one = spans(&[("getppid", &[300, 310]), ("idle", &[9])]);
        assert_eq!(captions(&one_run(&one, None)), ["No span of the window is on these CPUs.", " 2", MORE]);
        assert_eq!(captions(&one_run(&one, Some(3)))[1..], [" 2", "getppid 0", "idle 0"]);
    }

    #[test]
    fn two_runs_are_one_table_of_ways() {
        let [a, b] = [&[300u64, 310][..], &[620]].map(|all| spans(&[("getppid", all)]));
        let compared = dyntick_contract::lab::compared(&a, &b);
        let blocks = two_runs(&a, &b, &compared, None);
        assert_eq!(captions(&blocks), ["script: mean instructions of a span 2", MORE]);
        let Block::Table(table) = &blocks[1] else { panic!("{blocks:?}") };
        let row: Vec<String> = table.rows[0].iter().map(Cell::to_string).collect();
        assert_eq!(row, ["getppid", "2", "1", "305.0", "620.0", "+315.0"]);
        assert_eq!(
            captions(&two_runs(&a, &b, &compared, Some(5)))[1..],
            ["script: getppid, mean of a span 1"]
        );
    }

    #[test]
    fn equal_kinds_are_one_row_and_the_sum_is_the_last() {
        let first: [(&str, &[u64]); 4] =
            [("a", &[300, 310]), ("b", &[9]), ("c", &[7]), ("wake-up by x", &[9, 9])];
        let second: [(&str, &[u64]); 4] =
            [("a", &[620]), ("b", &[9]), ("c", &[7]), ("wake-up by x", &[9, 9])];
        let [one, two] = [first, second].map(|kinds| spans(&kinds));
        let rows = |a: &Spans, b: &Spans| {
            let compared = dyntick_contract::lab::compared(a, b);
            let blocks = two_runs(a, b, &compared, None);
            let Block::Table(table) = &blocks[1] else { panic!("{blocks:?}") };
            let text = |row: &Vec<Cell>| row.iter().map(Cell::to_string).collect::<Vec<_>>().join(" ");
            table.rows.iter().map(text).collect::<Vec<_>>()
        };
        let wanted = [
            "a 2 1 305.0 620.0 +315.0",
            "3 kinds equal     0.0",
            "instructions of all 4 3 626.0 636.0 +10.0",
        ];
        assert_eq!(rows(&one, &two), wanted);
        assert_eq!(rows(&two, &one)[0], "a 1 2 620.0 305.0 -315.0", "a is the first that was named");
    }
}
