// SPDX-License-Identifier: GPL-2.0-only
//! The table of where the time of a command's threads went.

mod subject;

pub use subject::{Who, of_measured, of_recorded};

use dyntick_record::{Ledger, MANY_FAULTS, PROBE, Part, SystemCall};
use dyntick_report::{Block, Cell, Column, Finding, Table, numbers, row};

/// The number of parts that are listed, unless all are requested.
const LISTED: usize = 5;

/// The number of parts whose fix is shown, unless all are requested.
const EXPLAINED: usize = 3;

/// The share of a part below which it is not worth an explanation.
const NEGLIGIBLE: f64 = 0.001;

/// The layout.
pub struct Look {
    /// True for all parts, each explained.
    pub full: bool,
    /// Notes below the table.
    pub notes: Vec<String>,
}

/// The table, and the parts that have an explanation; `who` names the threads. In short those that have a fix.
pub fn blocks(ledger: &Ledger, who: &Who, look: &Look) -> Vec<Block> {
    let parts =
        ledger.parts.iter().filter(|part| share(part, ledger).is_none_or(|share| share >= NEGLIGIBLE));
    let findings: Vec<Finding> = if look.full {
        alike(parts.filter(|part| has_words(part))).iter().map(|parts| finding(parts)).collect()
    } else {
        let helped = alike(parts.filter(|part| is_helped(part)));
        helped.iter().take(EXPLAINED).map(|parts| in_short(parts)).collect()
    };
    let mut blocks = vec![Block::Table(table(ledger, who, look))];
    blocks.extend(ledger.system_calls.as_ref().map(|calls| Block::Table(system_calls(calls, look.full))));
    if !findings.is_empty() {
        blocks.push(Block::Findings(findings));
    }
    blocks
}

fn is_helped(part: &Part) -> bool {
    !part.fixes.is_empty() && (part.ns.is_some() || part.count >= MANY_FAULTS || part.part == PROBE)
}

fn has_words(part: &Part) -> bool {
    !part.explanation.is_empty() || !part.fixes.is_empty()
}

fn share(part: &Part, ledger: &Ledger) -> Option<f64> {
    Some(part.ns? as f64 / ledger.lived_ns.max(1) as f64)
}

fn table(ledger: &Ledger, who: &Who, look: &Look) -> Table {
    let all = if look.full { ledger.detailed() } else { ledger.folded() };
    let (shown, parts) =
        if look.full { (usize::MAX, all.clone()) } else { (LISTED, worth_a_line(&all, ledger)) };
    let duration = |ns: Option<u64>| Cell::known(ns.map(|ns| Cell::Duration(ns as f64)));
    let row = |part: &Part| {
        row![
            duration(part.ns),
            Cell::known(share(part, ledger).map(Cell::Share)),
            Cell::Count(part.count),
            duration(part.longest_ns),
            format!("{}{}", if part.lost { "" } else { "– " }, part.title),
        ]
    };
    // The shortest are left out; those without a time never.
    let mut ranks: Vec<_> = parts.iter().map(rank).collect();
    ranks.sort_unstable();
    let least = ranks.get(shown.wrapping_sub(1)).copied();
    let is_shown = |part: &&Part| least.is_none_or(|least| rank(part) <= least);
    let hidden = all.len() - parts.iter().filter(is_shown).count();
    let hidden = (hidden > 0).then(|| format!("and {hidden} more; --full lists them")).into_iter();
    let elsewhere = (ledger.threads_elsewhere > 0).then(|| {
        format!(
            "{} of it only on CPUs that are not recorded",
            numbers::counted(ledger.threads_elsewhere, "other thread")
        )
    });
    let left = (ledger.more_threads > 0).then(|| {
        format!("{} of it for which there was no room", numbers::counted(ledger.more_threads, "other thread"))
    });
    let notes = look.notes.iter().cloned().chain(elsewhere).chain(left);
    let threads = numbers::counted(ledger.threads, "thread");
    Table {
        caption: format!(
            "The time of {who} ({threads}, {} in all); parts after a dash are not lost",
            numbers::duration(ledger.lived_ns as f64)
        ),
        columns: vec![
            Column::figure("time", ""),
            Column::figure("of all", ""),
            Column::figure("times", ""),
            Column::longest(),
            Column::text("where it went"),
        ],
        rows: parts.iter().filter(is_shown).map(row).collect(),
        notes: notes.chain(hidden).collect(),
    }
}

/// The parts that take a share worth a line, and untimed ones of which there are many.
fn worth_a_line(parts: &[Part], ledger: &Ledger) -> Vec<Part> {
    let is_shown = |part: &&Part| match share(part, ledger) {
        Some(share) => share >= NEGLIGIBLE,
        None => part.count >= MANY_FAULTS || part.part == PROBE,
    };
    parts.iter().filter(is_shown).cloned().collect()
}

fn system_calls(calls: &[SystemCall], full: bool) -> Table {
    let shown = if full { usize::MAX } else { LISTED };
    let row = |call: &SystemCall| {
        let [ns, ran_ns, longest_ns] =
            [call.ns, call.ran_ns, call.longest_ns].map(|ns| Cell::Duration(ns as f64));
        row![ns, ran_ns, Cell::Count(call.count), longest_ns, call.call.as_str()]
    };
    Table {
        caption: "System calls, from entry to exit".to_owned(),
        columns: vec![
            Column::figure("time", ""),
            Column::figure("ran", ""),
            Column::figure("times", ""),
            Column::longest(),
            Column::text("call"),
        ],
        rows: calls.iter().take(shown).map(row).collect(),
        notes: Vec::new(),
    }
}

/// The rank of a part in the choice of those that are listed.
fn rank(part: &Part) -> (bool, std::cmp::Reverse<Option<u64>>) {
    (part.ns.is_some(), std::cmp::Reverse(part.ns))
}

/// The parts of one kind that have the same explanation and fixes together, e.g. those after a wake-up and after a
/// preemption, in the order of the first.
fn alike<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<Vec<&'a Part>> {
    let mut groups: Vec<Vec<&Part>> = Vec::new();
    for part in parts {
        let same = |other: &Part| {
            (other.part, other.explanation, &other.fixes) == (part.part, part.explanation, &part.fixes)
        };
        match groups.iter_mut().find(|group| !part.fixes.is_empty() && same(group[0])) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    groups
}

/// The finding about parts that are alike.
fn finding(parts: &[&Part]) -> Finding {
    let part = parts[0];
    let by = parts.iter().flat_map(|part| &part.by);
    let by = by.map(|by| format!("{} ×{}, {}", by.by, by.count, numbers::duration(by.ns as f64)));
    let ns: Option<u64> = parts.iter().map(|part| part.ns).sum();
    let titles: Vec<&str> = parts.iter().map(|part| part.title.as_str()).collect();
    Finding {
        level: None,
        class: part.part.to_owned(),
        title: titles.join("; "),
        occurrence: ns.map_or(String::new(), |ns| {
            let count = parts.iter().map(|part| part.count).sum();
            format!("{}, {}", numbers::counted(count, "time"), numbers::duration(ns as f64))
        }),
        explanation: part.explanation.to_owned(),
        chain: by.take(4).collect(),
        functions: Vec::new(),
        fixes: part.fixes.iter().map(|fix| (fix.clone(), String::new())).collect(),
        source: String::new(),
    }
}

/// The title, the tasks and the fixes alone.
fn in_short(parts: &[&Part]) -> Finding {
    let Finding { title, mut chain, fixes, .. } = finding(parts);
    chain.truncate(1);
    Finding { title, chain, fixes, ..Finding::default() }
}
