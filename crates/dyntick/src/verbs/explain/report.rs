// SPDX-License-Identifier: GPL-2.0-only
//! From findings to the document that is printed.

use crate::classes::Classes;
use crate::few::few;
use dyntick_record::{CauseFindings, Chain, CpuFindings, Evidence, Explained, Findings, Record};
use dyntick_report::{Block, Column, Document, Finding, Lane, Mark, Table, Timeline, numbers};
use std::collections::BTreeMap;

/// So many causes of a CPU are explained in full, unless all are asked for.
const FOREMOST: usize = 3;

/// And so many are listed.
const LISTED: usize = 10;

/// And so many of the functions that ran in the interruptions of one.
const MOST_FUNCTIONS: usize = 32;

/// Even where all are asked for, not more than this are explained: a machine has some tens.
const MOST_CAUSES: usize = 1000;

/// The end of the recording that a timeline shows enlarged, ns.
const ZOOM_NS: u64 = 100_000_000;

/// The whole of it; `all` explains every cause and adds a timeline.
pub fn document(findings: &Findings, record: &Record, explained: &Explained, all: bool) -> Document {
    let mut blocks: Vec<Block> = doubts(findings).into_iter().map(Block::Paragraph).collect();
    if all {
        blocks.push(Block::Timeline(timeline(record, explained)));
    }
    for cpu in &findings.cpus {
        blocks.extend(of_cpu(cpu, all));
    }
    let command = match findings.command.is_empty() {
        true => String::new(),
        false => format!(" while `{}` ran", findings.command.join(" ")),
    };
    Document {
        title: format!("What interrupted CPU {}{command}", record.about.cpus),
        question: format!("{:.3} s of Linux {}", findings.seconds, findings.kernel),
        lead: Vec::new(),
        blocks,
    }
}

fn doubts(findings: &Findings) -> Vec<String> {
    let lost = findings.lost_events.iter().map(|(cpu, count)| {
        format!(
            "{} EVENTS OF CPU {cpu} WERE LOST: counts are too low and causes may be wrong. Record with a larger --buffer.",
            numbers::count(*count)
        )
    });
    let undecoded = (findings.undecoded > 0)
        .then(|| format!("{} records could not be decoded; their events are missing.", findings.undecoded));
    let notes = findings.notes.iter().map(|note| format!("Note: {note}."));
    lost.chain(undecoded).chain(notes).collect()
}

fn of_cpu(cpu: &CpuFindings, all: bool) -> Vec<Block> {
    let heading = format!(
        "CPU {}: {} ticks ({} /s), {} interruptions, {} in them ({})",
        cpu.cpu,
        numbers::count(cpu.ticks),
        numbers::rate(cpu.ticks_per_second),
        numbers::count(cpu.interruptions),
        numbers::duration(cpu.interrupted_ns as f64),
        numbers::percent(cpu.interrupted_share),
    );
    let mut blocks = vec![Block::Heading(heading)];
    if !cpu.causes.is_empty() {
        blocks.push(Block::Table(causes(cpu, all)));
    }
    blocks.extend(unattributed(cpu, all));
    let shown = cpu.causes.len().min(if all { MOST_CAUSES } else { FOREMOST });
    let told: Vec<Finding> = cpu.causes.iter().take(shown).map(finding).collect();
    if !told.is_empty() {
        blocks.push(Block::Findings(told));
    }
    if cpu.causes.len() > shown {
        let rest = cpu.causes.len() - shown;
        let elsewhere = if all { "--json to list" } else { "--verbose to explain" };
        blocks.push(Block::Paragraph(format!("Use {elsewhere} the other {rest}.")));
    }
    blocks
}

fn causes(cpu: &CpuFindings, all: bool) -> Table {
    let duration = |ns: Option<u64>| ns.map_or("–".to_owned(), |ns| numbers::duration(ns as f64));
    let shown = if all { MOST_CAUSES } else { LISTED };
    let hidden = cpu.causes.len().saturating_sub(shown);
    let row = |cause: &CauseFindings| {
        vec![
            cause.count.map_or("–".to_owned(), numbers::count),
            numbers::percent(cause.count_share),
            numbers::count(cause.ticks),
            duration(cause.total_ns),
            numbers::percent(cause.time_share),
            duration(cause.durations_ns.map(|d| d.median)),
            duration(cause.durations_ns.map(|d| d.p99)),
            duration(cause.durations_ns.map(|d| d.max)),
            cause.title.clone(),
        ]
    };
    Table {
        caption: String::new(),
        columns: vec![
            Column::figure("count", ""),
            Column::figure("of all", ""),
            Column::figure("ticks", ""),
            Column::figure("time", ""),
            Column::figure("of all", ""),
            Column::figure("median", ""),
            Column::figure("p99", ""),
            Column::figure("longest", ""),
            Column::text("cause"),
        ],
        rows: cpu.causes.iter().take(shown).map(row).collect(),
        notes: (hidden > 0)
            .then(|| {
                let elsewhere = if all { "--json" } else { "--verbose" };
                format!("and {hidden} more causes; use {elsewhere} to list them")
            })
            .into_iter()
            .collect(),
    }
}

fn unattributed(cpu: &CpuFindings, all: bool) -> Vec<Block> {
    let unnamed = &cpu.unattributed;
    let sentence = format!(
        "Unattributed: {} of {} interruptions ({}), {} of {} ({}).",
        numbers::count(unnamed.count),
        numbers::count(cpu.interruptions),
        numbers::percent(unnamed.share),
        numbers::duration(unnamed.total_ns as f64),
        numbers::duration(cpu.interrupted_ns as f64),
        numbers::percent(unnamed.time_share),
    );
    let mut blocks = vec![Block::Paragraph(sentence)];
    if !unnamed.untraced.is_empty() {
        let rows: Vec<String> =
            unnamed.untraced.iter().map(|(row, count)| format!("{row} +{count}")).collect();
        blocks.push(Block::Paragraph(format!(
            "/proc/interrupts counts more than the trace shows: {}.",
            rows.join(", ")
        )));
    }
    let evidence = |one: &Evidence| {
        let what = format!(
            "{} at {:.6} s, {}",
            one.kind,
            one.at_ns as f64 / 1e9,
            numbers::duration(one.duration_ns as f64)
        );
        (what, one.events.join("; "))
    };
    let shown = if all { unnamed.evidence.len() } else { 1 };
    let pairs: Vec<(String, String)> = unnamed.evidence.iter().take(shown).map(evidence).collect();
    if !pairs.is_empty() {
        blocks.push(Block::Pairs(pairs));
    }
    blocks
}

fn finding(cause: &CauseFindings) -> Finding {
    let count = cause.count.map(|count| format!("{} interruptions", numbers::count(count)));
    let ticks = (cause.ticks > 0).then(|| format!("{} of them ticks", numbers::count(cause.ticks)));
    let time = cause.total_ns.map(|ns| numbers::duration(ns as f64));
    let functions = cause.functions.iter().map(|(name, count)| format!("{name} ×{count}"));
    Finding {
        title: cause.title.clone(),
        occurrence: count.into_iter().chain(ticks).chain(time).collect::<Vec<_>>().join(", "),
        explanation: cause.explanation.to_owned(),
        chain: chain(cause),
        functions: few(functions, MOST_FUNCTIONS),
        fixes: cause.fixes.iter().map(|fix| (fix.setting.clone(), fix.effect.to_string())).collect(),
        source: cause.source.to_owned(),
    }
}

/// The most frequent chain; the others follow it in one step each.
fn chain(cause: &CauseFindings) -> Vec<String> {
    let Some((first, others)) = cause.chains.split_first() else { return Vec::new() };
    let mut steps = first.steps.clone();
    let also = |other: &Chain| format!("(×{}: {})", other.count, other.steps.join(" → "));
    if let Some(last) = steps.last_mut().filter(|_| !others.is_empty()) {
        *last += &format!(" (×{})", first.count);
    }
    steps.extend(others.iter().map(also));
    if cause.more_chains > 0 {
        steps.push(format!("(and {} other chains)", cause.more_chains));
    }
    steps
}

fn timeline(record: &Record, explained: &Explained) -> Timeline {
    let (begin, end) = record.about.window_ns;
    let summaries = &explained.explanation.per_cpu;
    let causes = summaries.iter().flat_map(|summary| &summary.by_cause);
    let classes = Classes::of(causes.map(|count| &count.cause));
    let mut marks: BTreeMap<u32, Vec<Mark>> = BTreeMap::new();
    for one in &explained.explanation.interruptions {
        let mark = |class| Mark { at_ns: one.start_ns.saturating_sub(begin), class };
        marks.entry(one.cpu).or_default().extend(classes.place(&one.cause).map(mark));
    }
    let mut lane = |summary: &dyntick_explain::Summary| Lane {
        name: format!("CPU {}", summary.cpu),
        figure: format!("{} /s", numbers::rate(summary.interruptions as f64 / summary.seconds)),
        marks: marks.remove(&summary.cpu).unwrap_or_default(),
    };
    Timeline {
        caption: "Interruptions, coloured by cause. A solid bar: too many to separate.".into(),
        window_ns: end - begin,
        zoom_ns: ZOOM_NS,
        lanes: summaries.iter().map(&mut lane).collect(),
        classes: classes.legend(),
    }
}
