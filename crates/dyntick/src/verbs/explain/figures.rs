// SPDX-License-Identifier: GPL-2.0-only
//! The figures of findings, for a gate.

use dyntick_contract::gate::{Counted, Figures};
use dyntick_model::CpuList;
use dyntick_observe::live::Kind;
use dyntick_record::{CauseFindings, Findings, Section};
use std::collections::BTreeSet;

/// The figures of each CPU, or of the threads of `--of` as those of the command, and the share of time that was lost.
pub fn of(findings: &Findings) -> Vec<Figures> {
    let missed: u64 = findings.lost_events.values().sum();
    let unrecorded = unrecorded(findings);
    // Threads were interrupted wherever they ran: they count for the first of their CPUs.
    let of_cpus = |cpus: &CpuList, section: &Section, shows_ticks: bool, missed: u64| {
        let interruptions = Counted {
            count: section.interruptions,
            ticks: shows_ticks.then(|| section.causes.iter().map(|cause| cause.ticks).sum()),
            ns: Some(section.interrupted_ns),
            longest_ns: longest(section),
            ..Counted::default()
        };
        let figures = Figures {
            cpu: Some(cpus.iter().next().unwrap_or_default()),
            seconds: findings.seconds,
            interruptions: Some(interruptions),
            causes: section.causes.iter().map(|cause| counted(cause, shows_ticks)).collect(),
            missed,
            is_partial: cpus.iter().any(|cpu| findings.offline.contains(cpu)),
            unrecorded: unrecorded.clone(),
            ..Figures::default()
        };
        figures.with_anonymous()
    };
    let of_command = findings
        .ledger
        .iter()
        .map(|ledger| Figures { missed, ..Figures::of_ledger(ledger, findings.seconds) });
    let missed_on = |cpu: u32| findings.lost_events.get(&cpu).copied().unwrap_or(0);
    let cpus = findings
        .cpus
        .iter()
        .map(|of| of_cpus(&CpuList::from_iter([of.cpu]), &of.section, of.ticks.is_some(), missed_on(of.cpu)));
    let threads =
        findings.threads.iter().map(|of| of_cpus(&of.cpus, &of.section, of.ticks.is_some(), missed));
    cpus.chain(threads).chain(of_command).collect()
}

/// The kinds of causes of which a trace of another tool has no event.
pub fn unrecorded(findings: &Findings) -> BTreeSet<Kind> {
    let Some(source) = &findings.source else { return BTreeSet::new() };
    let has_none = |kind: &Kind| !kind.tracepoints().iter().any(|event| source.events.contains_key(event));
    Kind::ALL.into_iter().filter(has_none).collect()
}

/// The longest interruption; 0 if there was none, and `None` if that of one cause is not known.
fn longest(section: &Section) -> Option<u64> {
    let had = section.causes.iter().filter(|cause| cause.interruptions > 0);
    let each: Option<Vec<u64>> = had.map(|cause| Some(cause.durations_ns?.max)).collect();
    each.map(|each| each.into_iter().max().unwrap_or(0))
}

fn counted(cause: &CauseFindings, shows_ticks: bool) -> Counted {
    Counted {
        name: cause.cause.to_string(),
        count: if cause.interruptions > 0 { cause.interruptions } else { cause.count.unwrap_or(0) },
        interrupts: cause.interruptions > 0,
        ticks: shows_ticks.then_some(cause.ticks),
        ns: cause.total_ns,
        longest_ns: cause.durations_ns.map(|of| of.max),
    }
}
