// SPDX-License-Identifier: GPL-2.0-only
//! Writes pages with every element of a report, for `make test-page`: `cargo run --example pages -- FOLDER`.

use dyntick_model::Fix;
use dyntick_report::{
    Axis, Block, Cell, Column, Document, Failure, Finding, Lane, Mark, Origin, Plot, Ruling, Series, Shape,
    Table, Timeline, Verdict, html, row,
};
use std::path::PathBuf;

/// A word without a position to break it.
const LONG: &str =
    "debian:6.12.94+context-tracking-user-force/no-hz-full+virt-cpu-accounting-gen/rcu-nocb-lazy";

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_default());
    std::fs::write(folder.join("study.html"), html(&study(6, 9)))?;
    std::fs::write(folder.join("many.html"), html(&study(100, 31)))?;
    std::fs::write(
        folder.join("empty.html"),
        html(&Document { title: "Nothing".into(), ..Document::default() }),
    )
}

/// A report with this number of cases and causes.
fn study(cases: usize, causes: usize) -> Document {
    Document {
        title: "Adaptive ticks: what still interrupts an isolated, busy CPU".into(),
        question: format!("What keeps the tick of a nohz_full CPU, and how does {LONG} change it?"),
        lead: vec!["The measured CPUs had between 0 and 250 ticks per second.".into()],
        blocks: vec![
            Block::Scores(verdicts()),
            Block::Timeline(timeline(cases, causes)),
            Block::Paragraph("2 cases not run: idle/debian:6.1, idle/debian:6.12.".into()),
            Block::Command("To run what is missing".into(), format!("dyntick lab run studies/{LONG}.toml")),
            Block::Heading("Interruptions of the measured CPUs".into()),
            Block::Table(table(cases)),
            Block::Details("The runs of repeated cases, one by one".into(), vec![Block::Table(table(3))]),
            Block::Heading("Wake-up latency".into()),
            Block::Plot(plot(4, Shape::Steps)),
            Block::Plot(plot(31, Shape::Lines)),
            Block::Heading("Causes and fixes".into()),
            Block::Findings((0..causes).map(finding).collect()),
            Block::Heading("The published claims".into()),
            Block::Verdicts(verdicts()),
            Block::Heading("Failed runs".into()),
            Block::Failures(vec![Failure {
                name: LONG.into(),
                reason: "the guest panicked".into(),
                console: vec![LONG.repeat(3), "Kernel panic - not syncing".into()],
            }]),
            Block::Heading("How it was measured".into()),
            Block::Pairs(vec![("clock".into(), "virtual".into()), (LONG.into(), LONG.repeat(2))]),
        ],
        origin: Some(Origin { command: format!("dyntick lab run {LONG}"), program: "dyntick 0".into() }),
    }
}

fn verdicts() -> Vec<Verdict> {
    let verdict = |(number, ruling): (usize, &Ruling)| Verdict {
        published: true,
        agreement: String::new(),
        claim: format!(
            "Claim {number}: where a second task is runnable, the tick of the CPU is kept, at {LONG}."
        ),
        rulings: match number {
            0 => vec![("debian:6.1".into(), *ruling), ("debian:6.12".into(), Ruling::NotReproduced)],
            _ => vec![(String::new(), *ruling)],
        },
        rests_on: String::new(),
        evidence: vec![format!("{LONG}: ticks_per_second = 250, wanted >= 200: yes")],
        unknown: Vec::new(),
        failed: Vec::new(),
        lacking: Vec::new(),
        comment: "It is so.".into(),
    };
    Ruling::ALL.iter().enumerate().map(verdict).collect()
}

fn timeline(cases: usize, causes: usize) -> Timeline {
    let lane = |case: usize| Lane {
        name: format!("nohz_full, case {case}, 6.12"),
        figure: "250 /s".into(),
        marks: (0..2500)
            .map(|n| Mark { at_ns: n * 4_000_000, class: (n as usize * 7 + case) % causes })
            .collect(),
    };
    Timeline {
        caption: "Timer interrupts of the measured CPUs, coloured by cause.".into(),
        window_ns: 10_000_000_000,
        zoom_ns: 100_000_000,
        merged: 0,
        classes: (0..causes)
            .map(|n| (format!("cause-{n}"), format!("Cause {n} of an interruption")))
            .collect(),
        lanes: (0..cases).map(lane).collect(),
    }
}

fn table(rows: usize) -> Table {
    let row = |n: usize| {
        row![
            format!("nohz_full, case {n}"),
            Cell::Rate(n as f64 * 1000.0),
            Cell::Share(n as f64 / 100.0),
            Cell::Duration(719.0 * (n + 1) as f64),
            Cell::signed(Cell::Rounded(0.123456 * n as f64, 4)),
            Cell::Unknown,
            LONG,
        ]
    };
    Table {
        caption: "HZ=250 in these kernels; windows of 10 s.".into(),
        columns: vec![
            Column::text("case"),
            Column::figure("ticks", "1/s"),
            Column::figure("of HZ", ""),
            Column::figure("longest", ""),
            Column::figure("change", "W"),
            Column::figure("SMI", ""),
            Column::text("main cause"),
        ],
        rows: (0..rows).map(row).collect(),
        notes: vec!["ticks: of the scheduler.".into()],
    }
}

fn plot(series: usize, shape: Shape) -> Plot {
    let one = |number: usize| Series {
        name: format!("Case {number}, 6.12"),
        points: (0..60).map(|x| (f64::from(x), f64::from((x * 7 + number as u32) % 50))).collect(),
    };
    Plot {
        caption: "Number of wake-ups by latency.".into(),
        x: Axis::linear("latency", "ns"),
        y: Axis::linear("wake-ups", ""),
        shape,
        series: (0..series).map(one).collect(),
    }
}

fn finding(number: usize) -> Finding {
    Finding {
        level: None,
        class: format!("cause-{number}"),
        title: format!("Cause {number} of an interruption"),
        occurrence: format!("{LONG}: 10 ticks"),
        explanation: "Each CPU collects changes of the memory statistics on its own.".into(),
        chain: vec!["vmstat_shepherd ran on CPU 0".into(), format!("it queued {LONG}")],
        functions: vec![format!("{LONG} ×10"), "vmstat_update ×10".into()],
        fixes: vec![
            (Fix::Command(format!("echo 0 > /sys/kernel/debug/{LONG}")), "Turns it off.".into()),
            (Fix::Boot("nohz_full=1 isolcpus=domain,1".into()), "Takes a reboot.".into()),
            (Fix::Advice("set affinities before the quiet phase".into()), String::new()),
        ],
        source: "mm/vmstat.c: vmstat_shepherd".into(),
    }
}
