// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::{Axis, Cell, Column, Lane, Mark, Plot, Series, Timeline};
use proptest::prelude::*;

fn with(block: Block) -> Document {
    Document { title: "T".into(), blocks: vec![block], ..Document::default() }
}

fn table(cells: Vec<Cell>) -> Table {
    let columns = vec![Column::text("case"), Column::figure("ticks", "1/s"), Column::text("cause")];
    Table { columns, rows: vec![cells], ..Table::default() }
}

#[test]
fn wide_cell_wraps_and_numbers_stay_aligned() {
    let long = "a second runnable task on the same CPU keeps the tick".to_owned();
    let mut table = table(vec!["second-task".into(), Cell::Rate(250.0), long.into()]);
    table.rows.push(vec!["nohz-full".into(), Cell::Rate(1.0), "the fair server".into()]);
    insta::assert_snapshot!(terminal(&with(Block::Table(table)), 44, false));
}

#[test]
fn table_too_wide_for_the_terminal_is_printed_row_by_row() {
    let table = table(vec!["second-task".into(), Cell::Rate(250.0), "a second runnable task".into()]);
    insta::assert_snapshot!(terminal(&with(Block::Table(table)), 26, false));
}

#[test]
fn verdict_shows_both_kernels() {
    let verdict = Verdict {
        published: true,
        agreement: String::new(),
        claim: "An RCU callback on the CPU ends adaptive mode.".into(),
        rulings: vec![("6.1".into(), Ruling::Reproduced), ("6.12".into(), Ruling::NotReproduced)],
        rests_on: "emulated: server: every exit takes the table's latency".into(),
        evidence: vec!["6.1: 12 ticks/s with callbacks, 0 without".into()],
        unknown: Vec::new(),
        failed: Vec::new(),
        lacking: Vec::new(),
        comment: "Debian offloads callbacks of nohz_full CPUs.".into(),
    };
    insta::assert_snapshot!(terminal(&with(Block::Verdicts(vec![verdict])), 60, false));
}

#[test]
fn cause_is_shown_with_its_fix() {
    let finding = Finding {
        title: "Memory statistics were folded into the global counters".into(),
        occurrence: "nohz-full, 6.1: 10 ticks".into(),
        explanation: "Each CPU collects changes of the memory statistics on its own.".into(),
        chain: vec!["vmstat_shepherd ran on CPU 0".into(), "it queued vmstat_update on CPU 1".into()],
        functions: vec!["vmstat_update ×10".into()],
        fixes: vec![(Fix::Command("sysctl vm.stat_interval=60".into()), "Folds once a minute.".into())],
        source: "mm/vmstat.c: vmstat_shepherd".into(),
        ..Finding::default()
    };
    insta::assert_snapshot!(terminal(&with(Block::Findings(vec![finding])), 60, false));
}

fn timeline() -> Timeline {
    let every = |step: usize, class| {
        (0..10_000u64).step_by(step).map(|n| Mark { at_ns: n * 1_000_000, class }).collect()
    };
    Timeline {
        caption: "Ticks of CPU 1".into(),
        window_ns: 10_000_000_000,
        merged: 0,
        classes: vec![("a".into(), "not nohz_full".into()), ("b".into(), "the fair server".into())],
        lanes: vec![
            Lane { name: "ticking".into(), figure: "250 /s".into(), marks: every(4, 0) },
            Lane { name: "nohz-full".into(), figure: "0.5 /s".into(), marks: every(2000, 1) },
        ],
        ..Timeline::default()
    }
}

#[test]
fn timeline_has_a_row_for_each_lane() {
    insta::assert_snapshot!(terminal(&with(Block::Timeline(timeline())), 60, false));
}

#[test]
fn colours_are_used_only_on_request() {
    let document = with(Block::Timeline(timeline()));
    assert!(!terminal(&document, 60, false).contains('\x1b'));
    let coloured = terminal(&document, 60, true);
    assert!(coloured.contains("\x1b[1mT\x1b[0m") && coloured.contains("the fair server"), "{coloured}");
}

#[test]
fn histogram_has_a_row_for_each_series() {
    let bins = |factor: f64| (0..20).map(|n| (f64::from(n), factor * f64::from(20 - n))).collect();
    let plot = Plot {
        caption: "Wake-up latency".into(),
        x: Axis::linear("latency", "us"),
        y: Axis::linear("wake-ups", ""),
        series: vec![
            Series { name: "NO_HZ_IDLE".into(), points: bins(10.0) },
            Series { name: "NO_HZ_FULL".into(), points: bins(5.0) },
        ],
        ..Plot::default()
    };
    insta::assert_snapshot!(terminal(&with(Block::Plot(plot)), 60, false));
}

#[test]
fn console_text_cannot_control_the_terminal() {
    let failure =
        Failure { name: "case".into(), reason: "panic".into(), console: vec!["\x1b[2Joops\tat\r1".into()] };
    insta::assert_snapshot!(terminal(&with(Block::Failures(vec![failure])), 60, false));
}

#[test]
fn command_is_one_line() {
    let command = format!("echo 0 > /sys/kernel/debug/{}", "server/".repeat(10));
    let fixes = vec![(Fix::Command(command.clone()), "Turns it off.".into())];
    let document = with(Block::Findings(vec![Finding { title: "T".into(), fixes, ..Finding::default() }]));
    let lines = |width| terminal(&document, width, false);
    assert!(lines(200).contains(&format!("    fix      {command}\n")));
    assert!(lines(60).contains(&format!("    fix\n  {command}\n")), "{}", lines(60));
}

#[test]
fn optional_columns_are_left_out_before_rows_become_blocks() {
    let columns = vec![
        Column::figure("count", ""),
        Column::figure("median", "").spare(1),
        Column::figure("p99", "").spare(2),
        Column::text("cause"),
    ];
    let table = |cause| {
        let row = crate::row![Cell::Count(7), Cell::Duration(1e3), Cell::Duration(2e3), cause];
        with(Block::Table(Table { columns: columns.clone(), rows: vec![row], ..Table::default() }))
    };
    let lines = |width| terminal(&table("the fair server fired"), width, false);
    assert!(lines(60).contains("median") && lines(60).contains("p99"), "{}", lines(60));
    assert!(lines(40).contains("median") && !lines(40).contains("p99"), "{}", lines(40));
    assert!(!lines(30).contains("median") && lines(30).contains("count"), "{}", lines(30));
    assert!(!lines(26).contains("median") && lines(26).contains("count"), "{}", lines(26));
    let blocks = terminal(&table("timer:delayed_work_timer_fn"), 30, false);
    assert!(blocks.contains("median") && blocks.contains("p99"), "as blocks it has all: {blocks}");
}

#[test]
fn words_that_fit_are_not_broken() {
    let cells =
        ["debian:6.12+no-hz-full+cputime-tick", "6.12.94+deb12-amd64", "by apt", "cputime-tick no-hz-full"];
    let columns = vec![Column::text("a"), Column::text("b"), Column::text("c"), Column::text("d")];
    let table = Table { columns, rows: vec![cells.map(Cell::from).to_vec()], ..Table::default() };
    for width in 40..120 {
        let text = terminal(&with(Block::Table(table.clone())), width, false);
        for word in cells.iter().flat_map(|cell| cell.split(' ')) {
            assert!(text.contains(word), "{word} at {width}: {text}");
        }
    }
}

/// The last ones have characters whose width depends on what follows.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,80}",
        "[a-z0-9_=,-]{0,140}",
        "\\PC{0,40}",
        "[*a\u{fe0f}\u{200d}\u{644}\u{627}👩 ]{0,60}"
    ]
}

proptest! {
    #[test]
    fn lines_are_never_too_wide(
        texts in prop::collection::vec(any_text(), 12),
        columns in 1usize..12,
        width in 20usize..120,
    ) {
        let text = |number: usize| texts[number].clone();
        let table = Table {
            columns: (0..columns).map(|n| match n % 3 { 0 => Column::text(&texts[n]), _ => Column::figure(&texts[n], "1/s") }).collect(),
            rows: [&texts[..], &texts[..3]].map(|row| row.iter().cloned().map(Cell::from).collect()).to_vec(),
            caption: text(0),
            notes: vec![text(1)],
        };
        let finding = Finding {
            level: None,
            title: text(0), occurrence: text(1), explanation: text(2), chain: texts[3..5].to_vec(),
            functions: texts[5..7].to_vec(), fixes: vec![(Fix::Advice(text(7)), text(8))], source: text(9), class: String::new(),
        };
        let verdict = Verdict {
            published: true,
            agreement: String::new(),
            claim: text(0), rulings: vec![(text(1), Ruling::Reproduced)], rests_on: text(5), evidence: vec![text(2)], unknown: Vec::new(), failed: vec![text(6)], lacking: Vec::new(), comment: text(3),
        };
        let mut timeline = timeline();
        timeline.lanes[0].name = text(4);
        timeline.lanes[0].figure = texts[5].chars().take(10).collect();
        let document = Document {
            title: text(0),
            question: text(1),
            lead: vec![text(2)],
            blocks: vec![
                Block::Heading(text(3)),
                Block::Table(table),
                Block::Findings(vec![finding]),
                Block::Scores(vec![verdict.clone()]),
                Block::Verdicts(vec![verdict]),
                Block::Timeline(timeline),
                Block::Failures(vec![Failure { name: text(6), reason: text(7), console: texts.clone() }]),
                Block::Pairs(vec![(text(8), text(9)), (text(10), text(11))]),
            ],
            origin: None,
        };
        for line in terminal(&document, width, false).lines() {
            prop_assert!(line.width() <= width, "{} columns: {line:?}", line.width());
        }
    }

    #[test]
    fn wrapping_loses_no_word(cells in prop::collection::vec("[a-z]{1,9}( [a-z]{1,9}){0,8}", 3), width in 20usize..100) {
        let text = terminal(&with(Block::Table(table(cells.iter().cloned().map(Cell::from).collect()))), width, false);
        for word in cells.iter().flat_map(|cell| cell.split(' ')) {
            prop_assert!(text.contains(word), "{word} is missing in {text}");
        }
    }
}
