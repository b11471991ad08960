// SPDX-License-Identifier: GPL-2.0-only
//! Late wake-ups as a document: grouped by cause, with the worst of each group in full.

use dyntick_explain::rules;
use dyntick_model::NANOS_PER_SEC;
use dyntick_record::late::{LateReport, LateWakeUp, alike};
use dyntick_report::{Block, Cell, Column, Document, Finding, Table, numbers, row};
use std::collections::BTreeMap;

/// The number of other wake-ups of a group that are listed.
const LISTED: usize = 20;

/// Makes the document; `count` is the number of late wake-ups. In short only the first group is complete.
pub fn document(report: &LateReport, count: usize, full: bool) -> Document {
    let LateReport { worst, trouble, stolen_ns } = report;
    let title = if count > worst.len() {
        format!(
            "{}, of which the worst {} are explained (--why-max)",
            numbers::counted(count as u64, "late wake-up"),
            worst.len()
        )
    } else {
        numbers::counted(worst.len() as u64, "late wake-up")
    };
    let blocks = match trouble {
        Some(trouble) => vec![Block::Paragraph(format!("Not explained: {trouble}."))],
        None => {
            let groups = alike(worst);
            let latest = worst.iter().map(|late| late.latency_ns).max();
            let has_latest = |group: &[&LateWakeUp]| group.iter().any(|late| Some(late.latency_ns) == latest);
            let shown = groups.iter().enumerate().filter(|(at, group)| full || *at == 0 || has_latest(group));
            shown.flat_map(|(_, group)| of_group(group, worst.len(), full)).collect()
        }
    };
    let mut lead = if trouble.is_none() { verdict(worst) } else { Vec::new() };
    lead.extend(stolen(stolen_ns));
    Document { title, lead, blocks, ..Document::default() }
}

/// The causes in a line each: how many of the wake-ups each has, and how late the worst was.
fn verdict(worst: &[LateWakeUp]) -> Vec<String> {
    let line = |group: &Vec<&LateWakeUp>| {
        let worst_ns = group.iter().map(|late| late.latency_ns).max().unwrap_or(0);
        format!(
            "Late because: {}, {} of {}, up to {:.1} µs.",
            what(group[0]),
            group.len(),
            worst.len(),
            us(worst_ns)
        )
    };
    alike(worst).iter().take(MOST_CAUSES).map(line).collect()
}

/// The steal time, which is in no event and may be any late wake-up's reason.
fn stolen(by_cpu: &BTreeMap<u32, u64>) -> Option<String> {
    if by_cpu.is_empty() {
        return None;
    }
    let of = |(cpu, ns): (&u32, &u64)| format!("CPU {cpu} for {}", numbers::duration(*ns as f64));
    Some(format!(
        "Meanwhile the hypervisor took {} (steal). No event shows when: time in which a task ran, or the CPU was idle, \
         may be that.",
        by_cpu.iter().map(of).collect::<Vec<_>>().join(", ")
    ))
}

/// The number of causes in the verdict.
const MOST_CAUSES: usize = 4;

/// The title of a cause.
fn what(late: &LateWakeUp) -> String {
    match (late.cause(), &late.story) {
        (Some(cause), _) => rules::title(cause),
        (None, Some(_)) => rules::title(&dyntick_explain::CauseId::of(rules::named::LATE_PATH)),
        (None, None) => "not in the trace".to_owned(),
    }
}

fn of_group(group: &[&LateWakeUp], all: usize, full: bool) -> Vec<Block> {
    let (first, others) = (group[0], &group[1..]);
    let mut blocks = vec![Block::Heading(format!("{} of {all}: {}", group.len(), what(first)))];
    let begin = if others.is_empty() { "Late" } else { "The worst of them is late" };
    blocks.push(Block::Paragraph(format!("{begin} {}", in_words(first))));
    blocks.extend(story(first));
    if full && !others.is_empty() {
        blocks.push(Block::Table(listed(others)));
    }
    blocks
}

fn in_words(late: &LateWakeUp) -> String {
    format!(
        "by {:.1} µs: thread {}{}, due at {:.6} s, wake-up {}",
        us(late.latency_ns),
        late.thread,
        late.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}")),
        seconds(late.due_ns),
        late.cycle
    )
}

fn story(late: &LateWakeUp) -> Vec<Block> {
    let Some(story) = &late.story else {
        let why = "Its events were overwritten before they were read, or did not fit into memory.";
        return vec![Block::Paragraph(why.to_owned())];
    };
    let steps = story.spans.iter().map(|span| row![fixed(span.at_ns), fixed(span.ns), span.text.clone()]);
    let steps = Table {
        columns: vec![Column::figure("due +", "µs"), Column::figure("took", "µs"), Column::text("what ran")],
        rows: steps.collect(),
        ..Table::default()
    };
    let causes = story.causes.iter().map(|share| row![took(share.ns), rules::title(&share.cause)]);
    let causes = Table {
        caption: "By cause:".to_owned(),
        columns: vec![Column::figure("", ""), Column::text("")],
        rows: causes.collect(),
        ..Table::default()
    };
    let unattributed =
        format!("Unattributed: {:.1} µs of {:.1} µs", us(story.unattributed_ns()), us(late.latency_ns));
    let finding = story.top().map(|top| {
        let rule = rules::get(&top.cause);
        Finding {
            title: rules::title(&top.cause),
            explanation: rule.explanation.to_owned(),
            chain: top.chain.texts(),
            fixes: late.fixes.iter().map(|fix| (fix.action.clone(), fix.effect.to_string())).collect(),
            source: rule.source.to_owned(),
            ..Finding::default()
        }
    });
    let finding = finding.map(|finding| Block::Findings(vec![finding]));
    let tables = [Block::Table(steps), Block::Table(causes)];
    tables.into_iter().chain(finding).chain([Block::Paragraph(unattributed)]).collect()
}

fn listed(others: &[&LateWakeUp]) -> Table {
    let row = |late: &&LateWakeUp| {
        row![
            fixed(late.latency_ns),
            Cell::Count(late.thread as u64),
            Cell::known(late.cpu.map(|cpu| Cell::Count(cpu.into()))),
            Cell::Fixed(seconds(late.due_ns), 6),
            Cell::Count(late.cycle),
        ]
    };
    let hidden = others.len().saturating_sub(LISTED);
    Table {
        caption: "The others:".to_owned(),
        columns: vec![
            Column::figure("late by", "µs"),
            Column::figure("thread", ""),
            Column::figure("CPU", ""),
            Column::figure("due at", "s"),
            Column::figure("wake-up", ""),
        ],
        rows: others.iter().take(LISTED).map(row).collect(),
        notes: (hidden > 0)
            .then(|| format!("and {hidden} more; use --json to list them"))
            .into_iter()
            .collect(),
    }
}

fn fixed(ns: u64) -> Cell {
    Cell::Fixed(us(ns), 1)
}

fn took(ns: u64) -> Cell {
    Cell::Text(format!("{:.1} µs", us(ns)))
}

/// Rounds down to 0.1 µs, so that the sum of parts never exceeds the total.
fn us(ns: u64) -> f64 {
    (ns / 100) as f64 / 10.0
}

fn seconds(ns: u64) -> f64 {
    (ns / 1000 * 1000) as f64 / NANOS_PER_SEC as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Sheet;
    use dyntick_explain::CauseId;
    use dyntick_explain::late::{Share, Span, Story};
    use dyntick_explain::rules::Rule;
    use dyntick_explain::rules::named::{LATE_IDLE, LATE_INTERRUPTS_OFF, LATE_PATH};

    fn late(cycle: u64, ns: u64, rule: Option<&'static Rule>) -> LateWakeUp {
        let story = rule.map(|rule| {
            let part = |rule, ns| (CauseId::of(rule), ns);
            let parts = [part(rule, ns - 10_000), part(LATE_PATH, 10_000)];
            let span = |at_ns: u64, (cause, ns): &(CauseId, u64), text: &str| Span {
                at_ns,
                ns: *ns,
                text: text.to_owned(),
                cause: cause.clone(),
            };
            let spans = vec![
                span(0, &parts[0], "what it was"),
                span(ns - 10_000, &parts[1], "timer interrupt: wakes the thread"),
            ];
            let share = |(cause, ns): (CauseId, u64)| Share {
                attributed: rules::get(&cause).names_origin,
                cause,
                ns,
                chain: Default::default(),
            };
            Story { spans, causes: parts.map(share).into() }
        });
        let due_ns = 1_035_423_000 + cycle * 20_000_000;
        let (woke_ns, fixes) = (due_ns + ns, Vec::new());
        LateWakeUp { thread: 0, cpu: Some(1), cycle, due_ns, woke_ns, latency_ns: ns, story, fixes }
    }

    #[test]
    fn wake_ups_are_grouped_by_cause_with_the_worst_in_full() {
        let worst = [
            late(3, 301_450, Some(LATE_IDLE)),
            late(7, 290_000, Some(LATE_INTERRUPTS_OFF)),
            late(1, 120_020, Some(LATE_IDLE)),
            late(9, 110_000, None),
        ];
        let stolen_ns = BTreeMap::from([(1, 30_000_000)]);
        let report = LateReport { worst: worst.into(), trouble: None, stolen_ns };
        insta::assert_snapshot!(Sheet { width: 80, colour: false }.text(&document(&report, 57, true)));
    }

    #[test]
    fn few_wake_ups_are_all_explained() {
        let report = LateReport { worst: vec![late(3, 301_450, Some(LATE_IDLE))], ..LateReport::default() };
        assert_eq!(document(&report, 1, false).title, "1 late wake-up");
    }
}
