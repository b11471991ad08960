// SPDX-License-Identifier: GPL-2.0-only
//! What was measured, for a terminal.

use super::MANY_CPUS;
use super::measure::Measured;
use super::power;
use super::rows::{self, Row, Told};
use crate::causes::{self, Advice};
use dyntick_explain::CauseId;
use dyntick_model::{CpuList, NANOS_PER_SEC};
use dyntick_observe::live::{Key, bucket_end_ns};
use dyntick_report::{Block, Column, Document, Table, numbers};
use std::collections::{BTreeMap, BTreeSet};

/// How it is told.
pub struct Look {
    /// A table for each CPU, however many there are.
    pub per_cpu: bool,
    /// How many rows of a CPU are shown.
    pub rows: usize,
    /// Tables only, as for each of many intervals.
    pub brief: bool,
}

/// How many causes are explained.
const EXPLAINED: usize = 6;

/// The width that every terminal of today has.
const COLUMNS: usize = 100;

/// The whole text. The `first` of several tells by what was counted.
pub fn text(measured: &Measured, command: &[String], advice: Advice<'_>, look: &Look, first: bool) -> String {
    let together = !look.per_cpu && measured.cpus.len() >= MANY_CPUS;
    let told = rows::told(measured, together);
    let mut blocks: Vec<Block> = Vec::new();
    for cpu in &told {
        let table = table(measured, cpu, look.rows);
        if table.rows.is_empty() {
            let notes = table.notes.join(" ");
            blocks.push(Block::Paragraph(format!(
                "{}: none of the counted events occurred. {notes}",
                cpu.name
            )));
        } else {
            blocks.push(Block::Table(table));
        }
    }
    blocks.extend(measured.longest.as_ref().map(|longest| longest.block(look.rows)));
    blocks.extend(measured.power.as_deref().map(power::block));
    if let Some(calls) = &measured.calls {
        blocks.extend(calls.blocks(measured.seconds(), measured.repeats(), !together));
        // Of several intervals the first one tells it.
        blocks.extend(calls.probes().into_iter().filter(|_| first || !look.brief).map(Block::Paragraph));
    }
    if !look.brief {
        let explained = explained(&told, &measured.cpus, advice);
        if !explained.is_empty() {
            blocks.push(Block::Heading("Causes and fixes".into()));
            blocks.push(Block::Pairs(explained));
        }
        let missing: Vec<(String, String)> =
            measured.missing.iter().map(|m| (m.what.clone(), format!("needs {}", m.needs))).collect();
        if !missing.is_empty() {
            blocks.push(Block::Heading("Not available here".into()));
            blocks.push(Block::Pairs(missing));
        }
    }
    let document = Document {
        title: title(measured, command, look),
        lead: lead(measured, look, first),
        blocks,
        ..Document::default()
    };
    dyntick_report::terminal(&document, COLUMNS, false) + "\n"
}

fn title(measured: &Measured, command: &[String], look: &Look) -> String {
    let cpus = if measured.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let seconds = |ns: u64| format!("{:.3} s", ns as f64 / NANOS_PER_SEC as f64);
    let time = match measured.repeats() {
        1 => seconds(measured.ns),
        runs => format!("{runs} runs of {} each", seconds(measured.ns / runs as u64)),
    };
    let at = if look.brief { format!("at {}: ", seconds(measured.at_ns)) } else { String::new() };
    let what = match command.is_empty() {
        true => String::new(),
        false => format!(", while '{}' ran", command.join(" ")),
    };
    format!("{at}{cpus} {}, {time}{what}", measured.cpus)
}

fn lead(measured: &Measured, look: &Look, first: bool) -> Vec<String> {
    let mut lead = Vec::new();
    let note = measured.source.as_ref().and_then(|source| source.note.clone());
    lead.extend(note.filter(|_| first));
    if let Some(finished) = measured.finished.as_ref().filter(|_| !look.brief) {
        let usage = finished.usage;
        let time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        lead.push(format!(
            "The command ended with status {}: {:.3} s user, {:.3} s system, {} voluntary and {} involuntary \
             context switches.",
            finished.code(),
            time(usage.ru_utime),
            time(usage.ru_stime),
            usage.ru_nvcsw,
            usage.ru_nivcsw
        ));
    }
    // Where many intervals follow, what is missing has no section of its own.
    let power = measured.missing.iter().find(|missing| missing.what == power::WHAT);
    let power = power.filter(|_| look.brief && first);
    lead.extend(power.map(|missing| format!("Power is not available here: it needs {}.", missing.needs)));
    let lost = measured.counts.as_ref().map(|counts| counts.lost).unwrap_or_default();
    let reasons = [
        (lost.recursion, "events were lost: they came while their own program ran"),
        (lost.overrun, "events were lost: the trace buffer was full"),
        (lost.undecoded, "events were lost: their records could not be decoded"),
        (lost.unnamed, "events have no name: the name table was full"),
    ];
    let lost = reasons.into_iter().filter(|(count, _)| *count > 0);
    lead.extend(lost.map(|(count, what)| format!("{} {what}.", numbers::count(count))));
    lead
}

fn table(measured: &Measured, cpu: &Told, limit: usize) -> Table {
    let repeats = measured.repeats() as u64;
    let mut columns = vec![
        Column::text("interruption"),
        Column::figure("count", ""),
        Column::figure("per s", ""),
        Column::figure("total", ""),
        Column::figure("mean", ""),
        Column::figure("longest", ""),
    ];
    if repeats > 1 {
        columns.insert(2, Column::figure("±", ""));
    }
    let mut notes = notes(cpu, measured.counts.is_some());
    let mut rows = Vec::new();
    if measured.counts.is_some() {
        let (lines, hidden) = largest(cpu, limit);
        rows.extend(lines.into_iter().map(|(depth, row)| cells(row, depth, measured, repeats)));
        if hidden > 0 {
            notes.insert(0, format!("{hidden} smaller rows are not shown; use --all to show them."));
        }
    } else {
        columns.truncate(3);
        for (row, count) in &cpu.meters.interrupts {
            let rate = numbers::rate(*count as f64 / measured.seconds());
            rows.push(vec![format!("/proc/interrupts {row}"), numbers::count(*count), rate]);
        }
    }
    Table { caption: cpu.name.clone(), columns, rows, notes }
}

/// The rows that are shown: every whole, and as many parts as there is room for. Tasks come last, since
/// there may be many and they say the least.
fn largest(cpu: &Told, limit: usize) -> (Vec<(usize, &Row)>, usize) {
    let rank = |row: &Row| std::cmp::Reverse((!row.is_task(), row.count.ns, row.count.count));
    let mut parts: Vec<&Row> = cpu.wholes.iter().flat_map(|whole| &whole.parts).collect();
    parts.sort_by_key(|row| rank(row));
    let room = limit.saturating_sub(cpu.wholes.len());
    let first_hidden = parts.get(room).map(|row| rank(row));
    let shown = |row: &&Row| first_hidden.is_none_or(|hidden| rank(row) < hidden);
    let mut lines = Vec::new();
    for whole in &cpu.wholes {
        lines.push((0, &whole.row));
        lines.extend(whole.parts.iter().filter(shown).map(|row| (1, row)));
    }
    let hidden = cpu.wholes.len() + parts.len() - lines.len();
    (lines, hidden)
}

fn cells(row: &Row, depth: usize, measured: &Measured, repeats: u64) -> Vec<String> {
    let count = &row.count;
    let name = format!("{}{}", "  ".repeat(depth), row.name);
    let duration = |ns: f64| if row.counted_only { String::new() } else { numbers::duration(ns) };
    let longest = match (count.longest_ns, count.highest_bucket().and_then(bucket_end_ns)) {
        (Some(ns), _) => duration(ns as f64),
        // The longest of all came before the window: only its bucket is known.
        (None, Some(end)) => format!("<{}", numbers::duration(end as f64)),
        (None, None) => String::new(),
    };
    let mut cells = vec![
        name,
        numbers::count(count.count / repeats),
        numbers::rate(count.count as f64 / measured.seconds()),
        duration(count.ns as f64 / repeats as f64),
        count.mean_ns().map(duration).unwrap_or_default(),
        longest,
    ];
    if repeats > 1 {
        cells.insert(2, row.spread.map(numbers::percent).unwrap_or_default());
    }
    cells
}

/// What is said below the table of a CPU.
fn notes(cpu: &Told, counted: bool) -> Vec<String> {
    let share = |ns: u64| numbers::percent(ns as f64 / cpu.ns.max(1) as f64);
    let mut notes = Vec::new();
    if counted {
        let unattributed = match cpu.interrupted_ns {
            0 => 0.0,
            all => cpu.unattributed_ns as f64 / all as f64,
        };
        notes.push(format!(
            "Interrupted for {} of the time; {} of that is unattributed.",
            share(cpu.interrupted_ns),
            numbers::percent(unattributed)
        ));
        notes.extend(ran(cpu, &share));
        notes.extend(tick(cpu));
    }
    notes.extend(idle(cpu, &share));
    let steal = cpu.meters.times.steal_ns;
    if steal > 0 {
        notes.push(format!("The hypervisor took {} of the time (steal).", share(steal)));
    }
    if let Some(smis) = cpu.meters.smis.filter(|smis| *smis > 0) {
        notes.push(format!("Firmware took the CPU {smis} times (SMI)."));
    }
    notes
}

/// Who had the CPU, beside those that interrupted it; known only of those that were switched to.
fn ran(cpu: &Told, share: &impl Fn(u64) -> String) -> Option<String> {
    let turns = [("the command", cpu.command_ns), ("idle", cpu.idle_ns), ("dyntick itself", cpu.observer_ns)];
    let told: Vec<String> =
        turns.iter().filter(|(_, ns)| *ns > 0).map(|(what, ns)| format!("{what} {}", share(*ns))).collect();
    (!told.is_empty()).then(|| format!("Ran: {}.", told.join(", ")))
}

fn tick(cpu: &Told) -> Option<String> {
    let kept: Vec<String> = cpu
        .kept
        .iter()
        .map(|(dependency, count)| {
            format!("{} times because {}", numbers::count(*count), causes::kept_because(*dependency))
        })
        .collect();
    let stopped = (cpu.stopped > 0).then(|| format!("stopped {} times", numbers::count(cpu.stopped)));
    let kept = (!kept.is_empty()).then(|| format!("kept {}", kept.join(", ")));
    let told: Vec<String> = stopped.into_iter().chain(kept).collect();
    (!told.is_empty()).then(|| format!("The tick was {}.", told.join("; ")))
}

fn idle(cpu: &Told, share: &impl Fn(u64) -> String) -> Option<String> {
    let used: Vec<String> = cpu
        .meters
        .idle
        .iter()
        .filter(|state| state.usage > 0)
        .map(|state| {
            let mut wrong = Vec::new();
            if state.above > 0 {
                wrong.push(format!("{} too deep", numbers::count(state.above)));
            }
            if state.below > 0 {
                wrong.push(format!("{} too shallow", numbers::count(state.below)));
            }
            let wrong = if wrong.is_empty() { String::new() } else { format!(", {}", wrong.join(", ")) };
            format!(
                "{} {} ({} times{wrong})",
                state.name,
                share(state.time_us * 1000),
                numbers::count(state.usage)
            )
        })
        .collect();
    (!used.is_empty()).then(|| format!("Idle states: {}.", used.join(", ")))
}

/// The causes that took the most time, in words.
fn explained(told: &[Told], cpus: &CpuList, advice: Advice<'_>) -> Vec<(String, String)> {
    let mut by_cause: BTreeMap<CauseId, (u64, u64)> = BTreeMap::new();
    for whole in told.iter().flat_map(|cpu| &cpu.wholes) {
        for row in std::iter::once(&whole.row).chain(&whole.parts) {
            let is_sum = !whole.parts.is_empty() && std::ptr::eq(row, &whole.row);
            if let Some(cause) = row.cause.clone().filter(|_| !is_sum) {
                let sum = by_cause.entry(cause).or_default();
                *sum = (sum.0 + row.count.ns, sum.1 + row.count.count);
            }
        }
    }
    let mut by_cause: Vec<_> = by_cause.into_iter().collect();
    by_cause.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    // Why ticks are kept comes first: it is what users ask most.
    let kept: BTreeSet<_> =
        told.iter().flat_map(|cpu| &cpu.kept).map(|(dependency, _)| *dependency).collect();
    let kept = kept.into_iter().filter_map(|dependency| causes::cause(&Key::TickKept { dependency }));
    let words = |cause: CauseId| {
        let rule = causes::rule(&cause)?;
        let fix = advice.settings(rule, cpus.iter().next()?, cpus).into_iter().next();
        let fix = fix.map(|fix| format!(" Fix: {fix}.")).unwrap_or_default();
        Some((cause.to_string(), format!("{}.{fix}", rule.title)))
    };
    kept.chain(by_cause.into_iter().map(|(cause, _)| cause)).filter_map(words).take(EXPLAINED).collect()
}
