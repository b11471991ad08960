// SPDX-License-Identifier: GPL-2.0-only
//! The report at the end of an isolation.

use crate::occurrences;
use crate::output::{self, Sheet, Target};
use crate::verbs::ledger::Who;
use crate::verbs::{ledger, turns, verdict};
use anyhow::Result;
use dyntick_check::shell;
use dyntick_contract::isolate::Report;
use dyntick_explain::Summary;
use dyntick_isolate::{Change, Isolation, Plan, Restored, Subject};
use dyntick_model::text::clean_line;
use dyntick_observe::facts::{Irq, irqs};
use dyntick_record::Ledger;
use dyntick_record::proof::{Cause, Trace};
use dyntick_record::verdict::Verdict;
use dyntick_report::{Block, Cell, Column, Document, Table, numbers, row};
use dyntick_system::hotplug;
use std::collections::BTreeMap;
use std::path::Path;

/// Writes a report into the named file, else to standard error, since the command owned standard output.
pub fn write(report: &Report, json: bool, full: bool, target: &Target) -> Result<()> {
    match (json, target.is_named()) {
        (true, _) => target.json_beside(true, report),
        (false, true) => target.page(&document(report, full)),
        (false, false) => {
            output::rendered_aside(format!("\n{}", Sheet::aside().text(&document(report, full))))
        }
    }
}

fn document(report: &Report, full: bool) -> Document {
    let how = match (&report.partition, &report.no_partition) {
        (Some(kind), _) => format!("an {kind} cpuset partition"),
        (None, Some(reason)) => format!("no cpuset partition: {reason}"),
        (None, None) => "pinned only".to_owned(),
    };
    let seconds = report.proof.seconds;
    let command = shell::command(&report.command);
    let mut blocks = Vec::new();
    if report.partition_held == Some(false) {
        let ended = "another process ended the partition while the command ran";
        blocks.push(Block::Paragraph(ended.to_owned()));
    }
    let left = match &report.left {
        Some(left) => {
            Some(format!("the command left its partition for {left}: from then on it was not isolated"))
        }
        None if report.has_left() => Some(
            "the command did not run on these CPUs: it changed its affinity, or joined another control group"
                .to_owned(),
        ),
        None => None,
    };
    blocks.extend(left.map(|left| Block::Paragraph(clean_line(&left))));
    let result = match &report.proof.trace {
        Some(trace) => {
            if let Some(ledger) = &trace.ledger {
                let who = ledger::of_recorded(Some(ledger), &report.command);
                let who = &who.unwrap_or_else(|| Who::named("the command"));
                // A program that slept nearly all the time lost nothing worth a sentence.
                if full || trace.verdict.of_threads {
                    blocks.extend(of_time(ledger, &trace.verdict, who, full));
                }
            }
            traced(trace, seconds, full, &mut blocks)
        }
        None => counted(report, &mut blocks),
    };
    if report.changes > 0 || !report.restored.failed.is_empty() {
        let mut lines = Vec::new();
        // A line stays one line, whatever the names in it.
        restored(&report.restored, &mut |line| lines.push(clean_line(&line)));
        blocks.push(Block::Paragraph(lines.join("\n")));
    }
    let title = format!("CPU {}, {seconds:.2} s, {how}; {command} ({})", report.cpus, report.status);
    let document = Document { title: clean_line(&title), question: result, blocks, ..Document::default() };
    let turns = report.proof.trace.as_ref().is_some_and(|trace| trace.turns);
    if turns { turns::page(document) } else { document }
}

/// The share of lost time from which on its parts are shown.
const WORTH_A_TABLE: f64 = 0.001;

/// The number of causes that are shown.
const FOREMOST: usize = 5;

/// The time of the command's threads.
fn of_time(ledger: &Ledger, verdict: &Verdict, who: &Who, full: bool) -> Vec<Block> {
    let lost = verdict::lost(verdict, &verdict::Subject::Threads(who, ledger));
    let mut blocks = vec![Block::Paragraph(lost)];
    if full || ledger.lost_share >= WORTH_A_TABLE {
        blocks.extend(ledger::blocks(ledger, who, &ledger::Look { full, notes: Vec::new() }));
    }
    blocks
}

/// Adds the counts that need no trace, and returns the number of interrupts in words.
fn counted(report: &Report, blocks: &mut Vec<Block>) -> String {
    if let Some(reason) = &report.proof.no_trace {
        let text = format!("no trace ({reason}); counted from /proc/interrupts, without causes");
        blocks.push(Block::Paragraph(text));
    }
    let seconds = report.proof.seconds;
    let row = |(name, count): &(String, u64)| {
        row![Cell::Count(*count), Cell::Rate(*count as f64 / seconds), name.as_str()]
    };
    if !report.proof.rows.is_empty() {
        blocks.push(Block::Table(Table {
            columns: vec![
                Column::figure("count", ""),
                Column::figure("per second", ""),
                Column::text("interrupt"),
            ],
            rows: report.proof.rows.iter().map(row).collect(),
            ..Table::default()
        }));
    }
    match report.interruptions() {
        0 => "no interrupt at all".to_owned(),
        count => numbers::counted(count, "interrupt"),
    }
}

/// Adds the causes, and returns the number of interruptions in words.
fn traced(trace: &Trace, seconds: f64, full: bool, blocks: &mut Vec<Block>) -> String {
    let count = trace.interruptions();
    if trace.lost > 0 {
        let lost = numbers::counted(trace.lost, "trace event");
        blocks.push(Block::Paragraph(format!("{lost} lost: there may have been more interruptions")));
    }
    blocks.extend(hotplug::note(&trace.offline).map(Block::Paragraph));
    if trace.stolen_ns > 0 {
        blocks.push(Block::Paragraph(format!(
            "the hypervisor ran something else on the CPU for {} (steal): what was late meanwhile is in no interruption",
            numbers::duration(trace.stolen_ns as f64)
        )));
    }
    if !trace.causes.is_empty() {
        blocks.push(Block::Table(causes(trace, seconds, full)));
    }
    if !trace.boot.is_empty() {
        let what = "To remove more, reboot with this on the kernel command line";
        blocks.push(Block::Command(what.to_owned(), trace.boot.join(" ")));
    }
    if trace.ticks_remain {
        blocks.push(Block::Paragraph(format!(
            "{} of the {} are ticks, which no boot parameter removes: this kernel has no CONFIG_NO_HZ_FULL.",
            numbers::count(trace.ticks()),
            numbers::counted(count, "interruption"),
        )));
    }
    let beside = beside(trace);
    match count {
        0 => format!("quiet: no interruption, no tick{beside}"),
        _ if trace.turns => {
            format!("{}, {} of them ticks{beside}", numbers::counted(count, "interruption"), trace.ticks())
        }
        _ => format!(
            "{}, {} of them ticks{beside}; the longest interruption took {}",
            numbers::counted(count, "interruption"),
            trace.ticks(),
            numbers::duration(trace.longest_ns() as f64)
        ),
    }
}

/// The occurrences on the CPUs that are not interruptions.
fn beside(trace: &Trace) -> String {
    let sum = |of: fn(&Summary) -> u64| trace.per_cpu.iter().map(of).sum();
    occurrences::beside(
        sum(|summary| summary.page_faults),
        (sum(|summary| summary.other_tasks), sum(|summary| summary.other_tasks_ns)),
        (sum(|summary| summary.command_tasks), sum(|summary| summary.command_tasks_ns)),
    )
}

/// The causes that took longest; in full each of them, followed by a row for each step of its chain.
fn causes(trace: &Trace, seconds: f64, full: bool) -> Table {
    let shown = if full { usize::MAX } else { FOREMOST };
    let hidden = trace.causes.len().saturating_sub(shown);
    let rows = |cause: &Cause| {
        let first = row![
            Cell::Count(cause.count),
            Cell::Rate(cause.count as f64 / seconds),
            // Page faults have no duration.
            Cell::known((cause.longest_ns > 0).then_some(Cell::Duration(cause.longest_ns as f64))),
            cause.title,
        ];
        let step = |step: &String| row!["", "", "", format!("  {step}")];
        let chain = if full { &cause.chain[..] } else { &[] };
        [first].into_iter().chain(chain.iter().map(step)).collect::<Vec<_>>()
    };
    Table {
        columns: vec![
            Column::figure("count", ""),
            Column::figure("per second", ""),
            Column::longest(),
            Column::text("cause"),
        ],
        rows: trace.causes.iter().take(shown).flat_map(rows).collect(),
        notes: (hidden > 0)
            .then(|| format!("and {hidden} more; --full lists them, with chains"))
            .into_iter()
            .collect(),
        ..Table::default()
    }
}

/// Describes the restored settings.
pub fn restored(restored: &Restored, say: &mut dyn FnMut(String)) {
    let Restored { restored: count, already, gone, released, .. } = restored;
    let mut parts = vec![format!("{count} put back")];
    let were = if *already == 1 { "was" } else { "were" };
    parts.extend((*already > 0).then(|| format!("{already} {were} as before")));
    parts.extend((*gone > 0).then(|| format!("{gone} no longer there")));
    let still = match *released {
        1 => "process still runs",
        _ => "processes still run",
    };
    parts.extend((*released > 0).then(|| format!("{released} {still}, on all CPUs")));
    say(format!("settings: {}", parts.join(", ")));
    exceptions(restored, say);
}

/// Describes the settings that were not restored.
pub fn exceptions(restored: &Restored, say: &mut dyn FnMut(String)) {
    for (what, value) in &restored.theirs {
        say(format!("  left as another process has set it: {what} is {value}"));
    }
    restored.notes.iter().for_each(|note| say(format!("  {note}")));
    for (what, why) in &restored.failed {
        say(format!("  not put back: {what}: {why}"));
    }
    if !restored.failed.is_empty() {
        say(format!("  {}", not_whole(restored)));
    }
}

/// The advice for the user if some settings could not be restored.
pub fn not_whole(restored: &Restored) -> String {
    let count = restored.failed.len();
    format!("the machine is not put back as it was ({count} failed): `dyntick isolate --restore` tries again")
}

/// Reports the changes that were refused while isolating.
pub fn refusals(isolation: &Isolation) {
    let applied = &isolation.applied;
    if let Some(reason) = &applied.no_partition {
        output::note(clean_line(&format!("no cpuset partition: {reason}; tasks are moved one by one")));
    }
    let lines = irqs();
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (step, reason) in &applied.refused {
        reasons.entry(reason).or_default().push(target(&step.change, &lines));
    }
    for (reason, targets) in reasons {
        output::note(clean_line(&format!("not changed: {}: {reason}", targets.join(", "))));
    }
    isolation.plan.notes.iter().for_each(|note| output::note(clean_line(note)));
}

/// The target of a change: a file or a thread, and of an interrupt line its number with its devices.
fn target(change: &Change, lines: &BTreeMap<u32, Irq>) -> String {
    let number = |path: &Path| path.strip_prefix("/proc/irq").ok()?.iter().next()?.to_str()?.parse().ok();
    let line: Option<u32> = match change {
        Change::Setting { path, .. } => number(path),
        _ => None,
    };
    match line.map(|number| (number, lines.get(&number))) {
        Some((number, Some(irq))) => format!("IRQ {number} ({})", irq.names.join(", ")),
        Some((number, None)) => format!("IRQ {number}"),
        None => change.target(),
    }
}

/// Reports the privilege that each change would need.
pub fn without_root(plan: &Plan) {
    let mut needs = BTreeMap::<Subject, &str>::new();
    needs.extend(plan.steps().map(|step| (step.subject, step.subject.needs())));
    for (subject, needs) in needs {
        output::step(format_args!("{}: needs {needs}", subject.name()));
    }
}
