// SPDX-License-Identifier: GPL-2.0-only
//! The measurement for a terminal.

mod foremost;

use super::{MANY_CPUS, calls, longest, power};
use crate::occurrences;
use crate::verbs::verdict::{self, Subject};
use crate::verbs::{ledger, turns};
use dyntick_check::shell;
use dyntick_contract::Adviser;
use dyntick_contract::{labels, stat};
use dyntick_count::{
    Class, CommandTime, CpuCounts, CpuTime, GroupRows, Measured, Part, Row, What, cause, missing, per_cpu,
    rule, together,
};
use dyntick_explain::CauseId;
use dyntick_model::{CpuList, NANOS_PER_SEC};
use dyntick_observe::live::{Key, bucket_end_ns};
use dyntick_report::{Block, Cell, Column, Document, Table, numbers, row};
use dyntick_system::hotplug;
use std::collections::{BTreeMap, BTreeSet};

/// The layout of the page.
pub struct Look {
    /// True for a table for each CPU, however many there are.
    pub per_cpu: bool,
    /// The extent of the page.
    pub extent: Extent,
}

/// The extent of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A verdict, and the figures that it follows from: one screen.
    Screen,
    /// Every row.
    Full,
    /// Tables only, for each of many intervals.
    Interval {
        /// True for every row.
        full: bool,
    },
}

/// The number of rows of a CPU in one of many intervals.
const ROWS: usize = 24;

impl Look {
    /// The number of rows that are shown for a CPU.
    fn rows(&self) -> usize {
        match self.extent {
            Extent::Full | Extent::Interval { full: true } => usize::MAX,
            Extent::Screen | Extent::Interval { full: false } => ROWS,
        }
    }

    fn is_interval(&self) -> bool {
        matches!(self.extent, Extent::Interval { .. })
    }
}

/// The number of causes that are explained.
const EXPLAINED: usize = 6;

/// The complete document. The `first` of several names the source of the counts.
pub fn document(
    measured: &Measured,
    command: &[String],
    adviser: &Adviser,
    look: &Look,
    first: bool,
) -> Document {
    let together_from = if look.extent == Extent::Screen { 2 } else { MANY_CPUS };
    let in_one = !look.per_cpu && measured.cpus.len() >= together_from;
    let counts = if in_one { vec![together(measured)] } else { per_cpu(measured) };
    let mut blocks = verdict(measured, &counts, command, adviser, look);
    blocks.extend(
        measured.command_time.iter().flat_map(|time| command_time(time, command, measured, adviser, look)),
    );
    for cpu in &counts {
        let table = match look.extent {
            Extent::Screen if measured.counts.is_some() => foremost::table(measured, cpu, adviser),
            _ => table(measured, cpu, look.rows()),
        };
        if table.rows.is_empty() {
            let notes = table.notes.join(" ");
            blocks.push(Block::Paragraph(format!(
                "{}: none of the counted events occurred. {notes}",
                table.caption
            )));
        } else {
            blocks.push(Block::Table(table));
        }
    }
    blocks.extend(measured.longest.as_ref().map(|longest| longest::block(longest, look.rows())));
    blocks.extend(measured.power.as_deref().map(power::block));
    if let Some(timed) = &measured.calls {
        blocks.extend(calls::blocks(timed, measured.seconds(), measured.repeats(), !in_one));
        // Of several intervals only the first has it.
        blocks.extend(
            calls::probes(timed).into_iter().filter(|_| first || !look.is_interval()).map(Block::Paragraph),
        );
    }
    if look.extent == Extent::Full {
        let explained = explained(&counts, &measured.cpus, adviser);
        if !explained.is_empty() {
            blocks.push(Block::Heading("Causes and fixes".into()));
            blocks.push(Block::Pairs(explained));
        }
    }
    // Without counts the reason is the most important line.
    if look.extent == Extent::Full || (measured.counts.is_none() && !look.is_interval()) {
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
    if adviser.turns { turns::page(document) } else { document }
}

/// The verdict; of many intervals only the time that the command's threads lost.
fn verdict(
    measured: &Measured,
    counts: &[CpuCounts],
    command: &[String],
    adviser: &Adviser,
    look: &Look,
) -> Vec<Block> {
    let Some(verdict) = stat::verdict(measured, command, adviser) else { return Vec::new() };
    let ledger = stat::ledger(measured);
    let who = &ledger::of_measured(measured, command);
    let share = |of: fn(&CpuTime) -> u64| {
        let all: u64 = counts.iter().map(|cpu| cpu.time.ns).sum();
        counts.iter().map(|cpu| of(&cpu.time)).sum::<u64>() as f64 / all.max(1) as f64
    };
    let subject = match &ledger {
        Some(ledger) if verdict.of_threads => Subject::Threads(who, ledger),
        _ => Subject::Cpus(
            format!(
                "{} {}",
                occurrences::cpus(&measured.cpus),
                if measured.cpus.len() == 1 { "was" } else { "were" }
            ),
            share(|time| time.interruptions_ns),
            share(|time| time.other_tasks_ns),
        ),
    };
    match look.is_interval() {
        true => ledger.iter().map(|_| Block::Paragraph(verdict::lost(&verdict, &subject))).collect(),
        false => verdict::blocks(&verdict, &subject),
    }
}

/// The time of the command's threads; of many intervals the verdict says enough.
fn command_time(
    time: &CommandTime,
    command: &[String],
    measured: &Measured,
    adviser: &Adviser,
    look: &Look,
) -> Vec<Block> {
    let is_subject = stat::verdict(measured, command, adviser).is_none_or(|verdict| verdict.of_threads);
    let is_shown = look.extent == Extent::Full || (is_subject && !look.is_interval());
    let Some(ledger) = stat::ledger(measured).filter(|_| is_shown) else { return Vec::new() };
    let who = &ledger::of_measured(measured, command);
    let throttled = time.throttled.iter().map(|group| {
        format!(
            "The kernel's own account: /{} was throttled in {}, {} on all CPUs ({}).",
            group.quota.group,
            numbers::counted(group.count, "period"),
            numbers::duration(group.ns as f64),
            group.quota.words()
        )
    });
    let lost = (time.waited.lost > 0).then(|| {
        format!(
            "{} events were lost: they came while their own program ran.",
            numbers::count(time.waited.lost)
        )
    });
    let notes = throttled.chain(lost).collect();
    ledger::blocks(&ledger, who, &ledger::Look { full: look.extent == Extent::Full, notes })
}

fn title(measured: &Measured, command: &[String], look: &Look) -> String {
    let cpus = if measured.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let seconds = |ns: u64| format!("{:.3} s", ns as f64 / NANOS_PER_SEC as f64);
    let time = match measured.repeats() {
        1 => seconds(measured.ns),
        runs => format!("{runs} runs of {} each", seconds(measured.ns / runs as u64)),
    };
    let at = if look.is_interval() { format!("at {}: ", seconds(measured.at_ns)) } else { String::new() };
    let what =
        if command.is_empty() { String::new() } else { format!(", while `{}` ran", shell::command(command)) };
    format!("{at}{cpus} {}, {time}{what}", measured.cpus)
}

fn lead(measured: &Measured, look: &Look, first: bool) -> Vec<String> {
    let mut lead = Vec::new();
    let note = measured.source.as_ref().and_then(labels::note);
    lead.extend(note.filter(|_| first));
    lead.extend(hotplug::note(&measured.offline).map(|sentences| format!("{sentences}.")));
    if let Some(finished) = measured.finished.as_ref().filter(|_| !look.is_interval()) {
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
    // If many intervals follow, missing counters have no own section.
    let power = measured.missing.iter().find(|one| one.what == missing::POWER);
    let power = power.filter(|_| look.is_interval() && first);
    lead.extend(power.map(|missing| format!("Power is not available here: it needs {}.", missing.needs)));
    let lost = measured.counts.as_ref().map(|counts| counts.lost).unwrap_or_default();
    let reasons = [
        (lost.recursion, "events were lost: they came while their own program ran"),
        (lost.overrun, "events were lost: the trace buffer was full"),
        (lost.undecoded, "events were lost: their records could not be decoded"),
        (lost.unnamed, "events are counted without a name: a name table was full"),
    ];
    let lost = reasons.into_iter().filter(|(count, _)| *count > 0);
    lead.extend(lost.map(|(count, what)| format!("{} {what}.", numbers::count(count))));
    lead
}

fn table(measured: &Measured, cpu: &CpuCounts, limit: usize) -> Table {
    let repeats = measured.repeats() as u64;
    let mut columns = vec![
        Column::text("interruption"),
        Column::figure("count", ""),
        Column::figure("per s", ""),
        Column::figure("total", ""),
        Column::figure("mean", ""),
        Column::longest(),
    ];
    if repeats > 1 {
        columns.insert(2, Column::figure("±", ""));
    }
    let mut notes = notes(cpu, measured.counts.is_some());
    let mut rows = Vec::new();
    if measured.counts.is_some() {
        let (lines, hidden) = largest(cpu, limit);
        if lines.iter().any(|(_, row)| matches!(row.what, What::Part(Part::Work(_)))) {
            notes.push(WORK_ITEMS.to_owned());
        }
        rows.extend(lines.into_iter().map(|(depth, row)| cells(row, depth, measured, repeats)));
        if hidden > 0 {
            notes.insert(0, format!("{hidden} smaller rows are not shown; use --full to show them."));
        }
    } else {
        columns.truncate(3);
        for (row, count) in &cpu.meters.interrupts {
            let rate = Cell::Rate(*count as f64 / measured.seconds());
            rows.push(row![format!("/proc/interrupts {row}"), Cell::Count(*count), rate]);
        }
    }
    let caption = match cpu.cpus.len() {
        1 => format!("CPU {}", cpu.cpus),
        _ => format!("CPUs {} together", cpu.cpus),
    };
    Table { caption, columns, rows, notes }
}

/// The rows that are shown: every group, and as many parts as fit. Tasks come last, since there may be many and they
/// matter least.
fn largest(cpu: &CpuCounts, limit: usize) -> (Vec<(usize, &Row)>, usize) {
    let rank = |row: &Row| std::cmp::Reverse((!row.is_user_tasks(), row.count.ns, row.count.count));
    let mut parts: Vec<&Row> = cpu.groups.iter().flat_map(|group| &group.parts).collect();
    parts.sort_by_key(|row| rank(row));
    let room = limit.saturating_sub(cpu.groups.len());
    let first_hidden = parts.get(room).map(|row| rank(row));
    let shown = |row: &&Row| first_hidden.is_none_or(|hidden| rank(row) < hidden);
    let mut lines = Vec::new();
    // Interruptions come first, then everything else.
    for class in [None, Some(Class::Interruption), Some(Class::PageFaults), Some(Class::UserTasks)] {
        for group in cpu.groups.iter().filter(|group| group.class() == class) {
            lines.push((0, &group.row));
            lines.extend(group.parts.iter().filter(shown).map(|row| (1, row)));
        }
    }
    let hidden = cpu.groups.len() + parts.len() - lines.len();
    (lines, hidden)
}

fn cells(row: &Row, depth: usize, measured: &Measured, repeats: u64) -> Vec<Cell> {
    let count = &row.count;
    let before = if row.began_before() { " (began before)" } else { "" };
    let name = format!("{}{}{before}", "  ".repeat(depth), labels::of(&row.what));
    let unless_before = |cell: Cell| Cell::or_blank((!row.began_before()).then_some(cell));
    let duration = |ns: f64| Cell::or_blank((!row.is_counted_only()).then_some(Cell::Duration(ns)));
    let longest = match (count.longest_ns, count.highest_bucket().and_then(bucket_end_ns)) {
        (Some(ns), _) => duration(ns as f64),
        // The longest duration was before the window: only its bucket is known.
        (None, Some(end)) => format!("<{}", numbers::duration(end as f64)).into(),
        (None, None) => Cell::or_blank(None),
    };
    let mut cells = row![
        name,
        unless_before(Cell::Count(count.count / repeats)),
        unless_before(Cell::Rate(count.count as f64 / measured.seconds())),
        duration(count.ns as f64 / repeats as f64),
        unless_before(Cell::or_blank(count.mean_ns().map(duration))),
        longest,
    ];
    if repeats > 1 {
        cells.insert(2, Cell::or_blank(row.spread.map(Cell::Share)));
    }
    cells
}

/// The relation of two kinds of rows that stand beside each other.
const WORK_ITEMS: &str = "Work items are parts of the time of the kworkers, which are rows of their own.";

/// The notes below the table of a CPU.
fn notes(cpu: &CpuCounts, counted: bool) -> Vec<String> {
    let time = cpu.time;
    let share = |ns: u64| numbers::percent(time.share(ns));
    let mut notes = Vec::new();
    if counted {
        let unattributed = cpu.unattributed_ns as f64 / time.interruptions_ns.max(1) as f64;
        notes.push(format!(
            "Interrupted for {} of the time; {} of that is unattributed.",
            share(time.interruptions_ns),
            numbers::percent(unattributed)
        ));
        notes.extend(rest(&time));
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

/// The rest of the time, without interruptions.
fn rest(time: &CpuTime) -> Option<String> {
    let parts = [
        ("the command", time.command_ns),
        ("other user tasks", time.other_tasks_ns),
        ("dyntick itself", time.observer_ns),
        ("idle", time.idle_ns),
        ("not accounted for", time.uncounted_ns),
    ];
    let parts = parts.iter().filter(|(_, ns)| *ns > 0);
    let parts: Vec<String> =
        parts.map(|(what, ns)| format!("{what} {}", numbers::percent(time.share(*ns)))).collect();
    let rest = numbers::percent(time.share(time.ns.saturating_sub(time.interruptions_ns)));
    (!parts.is_empty()).then(|| format!("The other {rest}: {}.", parts.join(", ")))
}

fn tick(cpu: &CpuCounts) -> Option<String> {
    let kept: Vec<String> = cpu
        .kept
        .iter()
        .map(|(dependency, count)| {
            format!("{} times because {}", numbers::count(*count), labels::kept_because(*dependency))
        })
        .collect();
    let stopped = (cpu.stopped > 0).then(|| format!("stopped {}", numbers::counted(cpu.stopped, "time")));
    let kept = (!kept.is_empty()).then(|| format!("kept {}", kept.join(", ")));
    let sentences: Vec<String> = stopped.into_iter().chain(kept).collect();
    (!sentences.is_empty()).then(|| format!("The tick was {}.", sentences.join("; ")))
}

fn idle(cpu: &CpuCounts, share: &impl Fn(u64) -> String) -> Option<String> {
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

/// The reason for a second runnable task, if no other task ran.
const UNSEEN: &str = "or the fair server; no other task was counted here";

/// The causes that took the most time, in words.
fn explained(counts: &[CpuCounts], cpus: &CpuList, adviser: &Adviser) -> Vec<(String, String)> {
    // The reasons for kept ticks come first, as users ask about them most.
    let kept: BTreeSet<_> =
        counts.iter().flat_map(|cpu| &cpu.kept).map(|(dependency, _)| *dependency).collect();
    let kept = kept.into_iter().filter_map(|dependency| cause(&Key::TickKept { dependency }));
    let others = counts.iter().any(CpuCounts::had_other_tasks);
    let words = |cause: CauseId| {
        let rule = rule(&cause);
        if !others && adviser.may_be_the_fair_server(&cause) {
            let command = format!("`dyntick explain -C {cpus}` shows which");
            return Some((cause.to_string(), format!("{}, {UNSEEN}: {command}.", rule.title)));
        }
        let mut rows = counts.iter().flat_map(|cpu| &cpu.groups).flat_map(GroupRows::rows);
        let irq = rows.find(|row| row.cause.as_ref() == Some(&cause)).and_then(Row::irq);
        let fix = adviser.fixes(rule, cpus.iter().next()?, cpus, irq).into_iter().next();
        let fix = fix.map(|fix| format!(" Fix: {fix}.")).unwrap_or_default();
        Some((cause.to_string(), format!("{}.{fix}", rule.title)))
    };
    kept.chain(by_time(counts, adviser)).filter_map(words).take(EXPLAINED).collect()
}

/// The counted causes, by their time, longest first; user tasks come last.
fn by_time(counts: &[CpuCounts], adviser: &Adviser) -> impl Iterator<Item = CauseId> + use<> {
    let mut by_cause: BTreeMap<CauseId, (bool, u64, u64)> = BTreeMap::new();
    for group in counts.iter().flat_map(|cpu| &cpu.groups) {
        // A sum does not have its own cause.
        let rows = if group.parts.is_empty() { std::slice::from_ref(&group.row) } else { &group.parts };
        for row in rows {
            if let Some(cause) = adviser.cause_of(row) {
                let sum = by_cause.entry(cause).or_default();
                let (ns, count) = (sum.1.saturating_add(row.count.ns), sum.2.saturating_add(row.count.count));
                *sum = (group.class() != Some(Class::UserTasks), ns, count);
            }
        }
    }
    let mut by_cause: Vec<_> = by_cause.into_iter().collect();
    by_cause.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    by_cause.into_iter().map(|(cause, _)| cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_observe::live::{Count, Snapshot, Whose};

    #[test]
    fn row_that_began_before_has_no_count() {
        let task = |comm: &str| Key::Task { comm: Some(comm.into()), whose: Whose::Other };
        let once = Count { count: 1, ns: 400_000, ..Count::default() };
        let counts = [(task("sh"), once), (task("app"), Count { ns: 600_000, ..Count::default() })];
        let measured = Measured {
            cpus: CpuList::first(1),
            ns: 1_000_000,
            counts: Some(Snapshot { cpus: [(0, counts.into())].into(), ..Snapshot::default() }),
            ..Measured::default()
        };
        let table = table(&measured, &per_cpu(&measured)[0], 10);
        let document = Document { blocks: vec![Block::Table(table)], ..Document::default() };
        insta::assert_snapshot!("began_before", dyntick_report::terminal(&document, 80, false));
    }
}
