// SPDX-License-Identifier: GPL-2.0-only
//! The document of findings.

mod in_short;

use crate::classes::Classes;
use crate::few::few;
use crate::occurrences;
use crate::verbs::{ledger, turns, verdict};
use dyntick_check::shell;
use dyntick_model::CpuList;
use dyntick_record::{
    CauseFindings, ChainCount, CpuFindings, Evidence, Explained, Findings, Section, StackCount,
    ThreadFindings,
};
use dyntick_report::{
    Block, Cell, Column, Document, Finding, Flame, Lane, Mark, Table, Timeline, numbers, row,
};
use std::collections::BTreeMap;

/// The number of functions that are listed for one cause.
const MOST_FUNCTIONS: usize = 32;

/// The limit of explained causes: a machine has some tens.
const MOST_CAUSES: usize = 1000;

/// The length of the end of the recording that a timeline shows enlarged, ns.
const ZOOM_NS: u64 = 100_000_000;

/// Makes the document: the verdict, the evidence for it, and if it is to be `full`, every cause and a timeline.
pub fn document(explained: &Explained<'_>, findings: &Findings, full: bool) -> Document {
    let turns = explained.about.machine.has_turns();
    let mut blocks: Vec<Block> = doubts(findings).into_iter().map(Block::Paragraph).collect();
    blocks.extend(verdict::blocks(&findings.verdict, &subject(findings, &whose(findings))));
    // Threads that slept nearly all the time are not what a reader asks about.
    if let Some(ledger) = findings.ledger.as_ref().filter(|_| full || findings.verdict.of_threads) {
        blocks.extend(ledger::blocks(ledger, &whose(findings), &ledger::Look { full, notes: Vec::new() }));
    }
    if full {
        blocks.push(Block::Timeline(timeline(explained, findings)));
        blocks.extend(findings.cpus.iter().flat_map(|cpu| section(of_cpu(cpu), &cpu.section)));
        blocks.extend(findings.threads.iter().flat_map(|of| section(of_threads(of), &of.section)));
    } else {
        blocks.extend(in_short::blocks(findings, turns));
    }
    if !findings.notes.is_empty() {
        blocks.push(Block::Paragraph(format!("Notes: {}.", findings.notes.join("; "))));
    }
    let command = if findings.command.is_empty() {
        String::new()
    } else {
        format!(" while `{}` ran", shell::command(&findings.command))
    };
    let who = match &findings.threads {
        Some(threads) => threads.of.clone(),
        None => occurrences::cpus(&explained.about.cpus),
    };
    let document = Document {
        title: format!("What interrupted {who}{command}"),
        question: format!("{:.3} s of {}", findings.seconds, kernel(explained)),
        blocks,
        ..Document::default()
    };
    if turns { turns::page(document) } else { document }
}

/// The kernel in words.
fn kernel(explained: &Explained<'_>) -> String {
    let kernel = &explained.about.machine.kernel;
    if kernel.is_known() { format!("Linux {kernel}") } else { "a Linux of unknown version".to_owned() }
}

/// The subject of the verdict: the threads whose time is known, else the CPUs.
fn subject<'a>(findings: &'a Findings, who: &'a ledger::Who) -> verdict::Subject<'a> {
    if let Some(ledger) = findings.ledger.as_ref().filter(|_| findings.verdict.of_threads) {
        return verdict::Subject::Threads(who, ledger);
    }
    let cpus: CpuList = findings.cpus.iter().map(|cpu| cpu.cpu).collect();
    let all_ns = findings.seconds * 1e9 * findings.cpus.len() as f64;
    let share = |of: fn(&Section) -> u64| {
        findings.cpus.iter().map(|cpu| of(&cpu.section) as f64).sum::<f64>() / all_ns.max(1.0)
    };
    let verb = if findings.cpus.len() == 1 { "was" } else { "were" };
    verdict::Subject::Cpus(
        format!("{} {verb}", occurrences::cpus(&cpus)),
        share(|section| section.interrupted_ns),
        share(|section| section.other_tasks_ns),
    )
}

/// The threads of the ledger, in words.
fn whose(findings: &Findings) -> ledger::Who {
    match &findings.threads {
        Some(threads) => ledger::Who::named(&threads.of),
        None => ledger::of_recorded(findings.ledger.as_ref(), &findings.command)
            .unwrap_or_else(|| ledger::Who::named("the process")),
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
    let limits = findings.source.iter().flat_map(|source| source.limits.iter().cloned());
    limits.chain(lost).chain(undecoded).collect()
}

/// The heading of a CPU.
fn of_cpu(cpu: &CpuFindings) -> String {
    let rate = cpu.ticks_per_second.map(|rate| format!(" ({} /s)", numbers::rate(rate)));
    format!("CPU {}: {}{}, {}", cpu.cpu, ticks(cpu.ticks), rate.unwrap_or_default(), counts(&cpu.section))
}

/// The heading of threads.
fn of_threads(threads: &ThreadFindings) -> String {
    format!(
        "{}: {} on {}, ran {}: {}, {}",
        threads.of,
        numbers::counted(threads.threads, "thread"),
        occurrences::cpus(&threads.cpus),
        numbers::duration(threads.ran_ns as f64),
        ticks(threads.ticks),
        counts(&threads.section),
    )
}

fn ticks(count: Option<u64>) -> String {
    count.map_or_else(|| "ticks not recorded".to_owned(), |count| numbers::counted(count, "tick"))
}

/// The interruptions in words, and the other occurrences that took the CPU.
fn counts(section: &Section) -> String {
    format!(
        "{}, {} in them ({}){}",
        numbers::counted(section.interruptions, "interruption"),
        numbers::duration(section.interrupted_ns as f64),
        numbers::percent(section.interrupted_share),
        occurrences::beside(
            section.page_faults,
            (section.other_tasks, section.other_tasks_ns),
            (section.command_tasks, section.command_tasks_ns)
        ),
    )
}

fn section(heading: String, section: &Section) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(heading)];
    if !section.causes.is_empty() {
        blocks.push(Block::Table(causes(&section.causes)));
    }
    blocks.extend(unattributed(section));
    blocks.extend(flame(&section.causes));
    let shown = section.causes.len().min(MOST_CAUSES);
    let described: Vec<Finding> = section.causes.iter().take(shown).map(finding).collect();
    if !described.is_empty() {
        blocks.push(Block::Findings(described));
    }
    blocks.extend(stacks(&section.causes[..shown]));
    if section.causes.len() > shown {
        let rest = section.causes.len() - shown;
        blocks.push(Block::Paragraph(format!("Use --json to list the other {rest}.")));
    }
    blocks
}

fn causes(causes: &[CauseFindings]) -> Table {
    let duration = |ns: Option<u64>| Cell::known(ns.map(|ns| Cell::Duration(ns as f64)));
    let hidden = causes.len().saturating_sub(MOST_CAUSES);
    let row = |cause: &CauseFindings| {
        row![
            Cell::known(cause.count.map(Cell::Count)),
            Cell::Count(cause.ticks),
            duration(cause.total_ns),
            Cell::Share(cause.time_share),
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
            Column::figure("ticks", ""),
            Column::figure("time", ""),
            Column::figure("of all", ""),
            Column::figure("median", "").spare(2),
            Column::figure("p99", "").spare(3).extreme(),
            Column::longest(),
            Column::text("cause"),
        ],
        rows: causes.iter().take(MOST_CAUSES).map(row).collect(),
        notes: (hidden > 0)
            .then(|| format!("and {hidden} more causes; --json lists them"))
            .into_iter()
            .collect(),
    }
}

fn unattributed(section: &Section) -> Vec<Block> {
    let unnamed = &section.unattributed;
    let sentence = format!(
        "Unattributed: {} of {} interruptions ({}), {} of {} ({}).",
        numbers::count(unnamed.count),
        numbers::count(section.interruptions),
        numbers::percent(unnamed.share),
        numbers::duration(unnamed.total_ns as f64),
        numbers::duration(section.interrupted_ns as f64),
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
    let pairs: Vec<(String, String)> = unnamed.evidence.iter().map(evidence).collect();
    if !pairs.is_empty() {
        blocks.push(Block::Pairs(pairs));
    }
    blocks
}

/// The number of stacks of a cause that are shown; the page has a picture of all.
const MOST_STACKS: usize = 3;

/// The call stacks that caused interruptions most often, as text.
fn stacks(causes: &[CauseFindings]) -> Option<Block> {
    let of_cause = |cause: &CauseFindings| {
        let of = cause.cause.to_string();
        let described = |stack: &StackCount| (format!("{of} ×{}", stack.count), stack.frames.join("; "));
        cause.stacks.iter().take(MOST_STACKS).map(described).collect::<Vec<_>>()
    };
    let pairs: Vec<(String, String)> = causes.iter().flat_map(of_cause).collect();
    (!pairs.is_empty()).then_some(Block::Pairs(pairs))
}

/// All call stacks as a picture, by cause.
fn flame(causes: &[CauseFindings]) -> Option<Block> {
    let of_cause = |cause: &CauseFindings| {
        let name = cause.cause.to_string();
        let stack = move |stack: &StackCount| {
            let frames = [name.clone()].into_iter().chain(stack.frames.iter().cloned());
            (frames.collect(), stack.count)
        };
        cause.stacks.iter().map(stack).collect::<Vec<(Vec<String>, u64)>>()
    };
    let stacks: Vec<(Vec<String>, u64)> = causes.iter().flat_map(of_cause).collect();
    let caption =
        "Call stacks that caused interruptions, by cause: a wider box occurred more often. Hover for names.";
    (!stacks.is_empty()).then(|| Block::Flame(Flame { caption: caption.to_owned(), stacks }))
}

fn finding(cause: &CauseFindings) -> Finding {
    let count = cause.count.map(|count| occurrences::of_cause(&cause.cause, count, cause.interruptions));
    let ticks = (cause.ticks > 0).then(|| format!("{} of them ticks", cause.ticks));
    let time = cause.total_ns.map(|ns| numbers::duration(ns as f64));
    let functions = cause.functions.iter().map(|(name, count)| format!("{name} ×{count}"));
    Finding {
        level: None,
        class: cause.cause.to_string(),
        title: cause.title.clone(),
        occurrence: count.into_iter().chain(ticks).chain(time).collect::<Vec<_>>().join(", "),
        explanation: cause.explanation.to_owned(),
        chain: chain(cause),
        functions: few(functions, MOST_FUNCTIONS),
        fixes: cause.fixes.iter().map(|fix| (fix.action.clone(), fix.effect.to_string())).collect(),
        source: cause.source.to_owned(),
    }
}

/// The most frequent chain; each other chain follows in one step.
fn chain(cause: &CauseFindings) -> Vec<String> {
    let Some((first, others)) = cause.chains.split_first() else { return Vec::new() };
    let mut steps = first.steps.texts();
    let also = |other: &ChainCount| format!("(×{}: {})", other.count, other.steps.texts().join(" → "));
    if let Some(last) = steps.last_mut().filter(|_| !others.is_empty()) {
        *last += &format!(" (×{})", first.count);
    }
    steps.extend(others.iter().map(also));
    if cause.more_chains > 0 {
        steps.push(format!("(and {})", numbers::counted(cause.more_chains as u64, "other chain")));
    }
    steps
}

fn timeline(explained: &Explained<'_>, findings: &Findings) -> Timeline {
    let (begin, end) = explained.about.window_ns;
    let of_threads =
        findings.threads.iter().flat_map(|threads| &threads.section.causes).map(|cause| &cause.cause);
    let of_cpus = explained.per_cpu.iter().flat_map(|summary| &summary.by_cause).map(|count| &count.cause);
    let classes = match findings.threads {
        Some(_) => Classes::of(of_threads),
        None => Classes::of(of_cpus),
    };
    let places: Vec<Option<usize>> =
        explained.marks.causes.iter().map(|cause| classes.place(cause)).collect();
    let mut marks: BTreeMap<u32, Vec<Mark>> = BTreeMap::new();
    for (start_ns, cpu, cause) in &explained.marks.marks {
        let mark = |class| Mark { at_ns: start_ns.saturating_sub(begin), class };
        marks.entry(*cpu).or_default().extend(places[*cause as usize].map(mark));
    }
    let seconds = end.saturating_sub(begin) as f64 / 1e9;
    let lane = |(cpu, count): (u32, u64)| Lane {
        name: format!("CPU {cpu}"),
        figure: format!("{} /s", numbers::rate(count as f64 / seconds)),
        marks: marks.remove(&cpu).unwrap_or_default(),
    };
    let shown = match explained.marks.one_of {
        1 => "Interruptions".to_owned(),
        one_of => format!("One of {one_of} interruptions"),
    };
    Timeline {
        caption: format!(
            "{shown}, coloured by cause. A solid bar stands for events too close together to be drawn apart."
        ),
        window_ns: end - begin,
        zoom_ns: ZOOM_NS,
        lanes: explained.marked().into_iter().map(lane).collect(),
        classes: classes.legend(),
        merged: classes.merged(),
    }
}
