// SPDX-License-Identifier: GPL-2.0-only
//! Documents as plain-text mail: ASCII lines of at most 72 columns, to be pasted into a reply on a mailing list. Only a
//! command is one line whatever its length, since it is to be copied.

use crate::terminal::{fits, terminal};
use crate::{Align, Block, Cell, Document, Finding, Table, Verdict, score};

/// The width of a line on mailing lists (`Documentation/process/email-clients.rst` asks for unwrapped lines; 72 leaves
/// room for being quoted a few times).
pub const COLUMNS: usize = 72;
/// The narrowest column of texts; a table that needs a narrower one is split instead.
const NARROWEST: usize = 20;

/// Renders a document for a mail. Pictures are left out, causes have only their names and fixes, and a table that is
/// too wide is split into several that begin with the same columns.
pub fn mail(document: &Document) -> String {
    let blocks: Vec<Block> = document.blocks.iter().flat_map(block).collect();
    let document = Document { blocks: without_empty_sections(blocks), ..document.clone() };
    ascii(&terminal(&document, COLUMNS, false))
}

fn block(block: &Block) -> Vec<Block> {
    match block {
        Block::Timeline(_) | Block::Plot(_) | Block::Flame(_) => Vec::new(),
        Block::Scores(verdicts) => scores(verdicts),
        Block::Findings(findings) => vec![Block::Findings(findings.iter().map(in_short).collect())],
        Block::Table(table) => parts(table).into_iter().map(Block::Table).collect(),
        other => vec![other.clone()],
    }
}

/// The number of claims with each ruling, and each claim after its ruling in words: a mail has no legend of signs.
fn scores(verdicts: &[Verdict]) -> Vec<Block> {
    let one = |verdict: &Verdict| (verdict.only_word().to_owned(), verdict.in_short());
    vec![Block::Heading(score(verdicts)), Block::Pairs(verdicts.iter().map(one).collect())]
}

/// Removes headings with nothing below them.
fn without_empty_sections(blocks: Vec<Block>) -> Vec<Block> {
    let is_heading = |block: Option<&Block>| matches!(block, None | Some(Block::Heading(_)));
    let kept = |number: &usize| !(is_heading(blocks.get(*number)) && is_heading(blocks.get(number + 1)));
    (0..blocks.len()).filter(kept).map(|number| blocks[number].clone()).collect()
}

/// The name of a cause, with its fixes.
fn in_short(finding: &Finding) -> Finding {
    let fixes = finding.fixes.iter().map(|(fix, _)| (fix.clone(), String::new())).collect();
    Finding { level: finding.level, title: finding.title.clone(), fixes, ..Finding::default() }
}

/// The table, split into as few as fit. Each begins with the texts that name its rows.
fn parts(table: &Table) -> Vec<Table> {
    let names = table.columns.iter().take_while(|column| column.align == Align::Left).count();
    let names = if names < table.columns.len() { names } else { 1 };
    let mut parts = Vec::new();
    let mut begin = names;
    while begin < table.columns.len() {
        let fitting = |end: &usize| fits(&columns(table, names, begin..*end), COLUMNS, NARROWEST);
        let end = (begin + 1..=table.columns.len()).take_while(fitting).last().unwrap_or(begin + 1);
        parts.push(columns(table, names, begin..end));
        begin = end;
    }
    if parts.is_empty() {
        return vec![table.clone()];
    }
    let last = parts.len() - 1;
    for part in &mut parts[..last] {
        part.notes.clear();
    }
    for part in &mut parts[1..] {
        part.caption.clear();
    }
    parts
}

/// The columns that name the rows, and some others.
fn columns(table: &Table, names: usize, others: std::ops::Range<usize>) -> Table {
    let chosen = || (0..names).chain(others.clone());
    let row = |row: &Vec<Cell>| {
        chosen().map(|column| row.get(column).cloned().unwrap_or_else(|| Cell::Text(String::new()))).collect()
    };
    Table {
        columns: chosen().map(|column| table.columns[column].clone()).collect(),
        rows: table.rows.iter().map(row).collect(),
        ..table.clone()
    }
}

/// Replaces characters outside ASCII by others of the same width.
fn ascii(text: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii() => c,
        '─' | '–' | '—' | '−' | '→' => '-',
        '•' | '×' => '*',
        '✓' => '+',
        '✗' => '!',
        'µ' | 'μ' => 'u',
        '…' => '~',
        '○' => 'o',
        '·' => '.',
        '\u{a0}' | '\u{2009}' | '\u{202f}' => ' ',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        _ => '?',
    };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Ruling, Timeline, Verdict};
    use dyntick_model::Fix;
    use proptest::prelude::*;

    fn wide() -> Table {
        let mut columns = vec![Column::text("case"), Column::text("state")];
        columns.extend(
            ["usage", "time", "above", "below", "rejected", "energy"].map(|h| Column::figure(h, "us")),
        );
        let row = |case: &str, state: &str| {
            let figures = (1..=6u64).map(|n| Cell::Count(n * 1_234_567));
            [case.into(), state.into()].into_iter().chain(figures).collect()
        };
        Table {
            caption: "Idle states – before and after".into(),
            columns,
            rows: vec![row("menu, nohz_full", "C1E"), row("menu, nohz_full", "C6")],
            notes: vec!["above: entered for too short a time".into()],
        }
    }

    #[test]
    fn reply_is_plain_ascii() {
        let document = Document {
            title: "Does the margin help?".into(),
            question: "menu selects PC6 where the tick is stopped and packets come every 500 µs.".into(),
            lead: Vec::new(),
            blocks: vec![
                Block::Heading("Idle states".into()),
                Block::Table(wide()),
                Block::Heading("When".into()),
                Block::Timeline(Timeline::default()),
                Block::Heading("Claims".into()),
                Block::Verdicts(vec![Verdict {
                    published: true,
                    agreement: String::new(),
                    claim: "151 µs before, 30 µs after".into(),
                    rulings: vec![(String::new(), Ruling::Reproduced)],
                    rests_on: String::new(),
                    evidence: vec!["menu: qperf:tcp_lat = 150.9, wanted <= 189: yes".into()],
                    unknown: Vec::new(),
                    failed: Vec::new(),
                    lacking: Vec::new(),
                    comment: "It is so.".into(),
                }]),
            ],
            origin: None,
        };
        insta::assert_snapshot!(mail(&document));
    }

    #[test]
    fn causes_have_their_names_and_fixes() {
        let command = format!("echo 0 > /sys/kernel/{}", "x".repeat(80));
        let finding = Finding {
            title: "The fair server".into(),
            explanation: "long".into(),
            fixes: vec![
                (Fix::Boot("isolcpus=1".into()), "helps".into()),
                (Fix::Command(command.clone()), "helps too".into()),
            ],
            ..Finding::default()
        };
        let document = Document { blocks: vec![Block::Findings(vec![finding])], ..Document::default() };
        let text = mail(&document);
        assert!(text.contains("fix      boot with isolcpus=1\n"), "{text}");
        assert!(text.contains(&format!("\n  {command}\n")), "a command is not broken: {text}");
        assert!(!text.contains("long") && !text.contains("helps"), "{text}");
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_and_no_column_is_lost(
            cells in proptest::collection::vec("[a-z0-9 .,µ]{0,90}", 9),
            texts in 0usize..9,
        ) {
            let column = |n: usize| {
                let header = format!("c{n}");
                if n < texts { Column::text(&header) } else { Column::figure(&header, "") }
            };
            let table = Table { columns: (0..9).map(column).collect(), rows: vec![cells.into_iter().map(Cell::from).collect()], ..Table::default() };
            let text = mail(&Document { blocks: vec![Block::Table(table)], ..Document::default() });
            prop_assert!(text.is_ascii());
            prop_assert!(text.lines().all(|line| line.len() <= COLUMNS), "{}", text);
            for n in 0..9 {
                let header = format!("c{n}");
                prop_assert!(text.contains(&header));
            }
        }
    }
}
