// SPDX-License-Identifier: GPL-2.0-only
//! What a record says, cause by cause, in the order of what matters most.

use crate::printed_fix::{Named, Place, PrintedFix};
use crate::{Explained, Record, uncaused};
use dyntick_explain::{CauseId, Interruption, Kind, Summary, rules};
use dyntick_model::{CommandLine, CpuList, Symbol};
use dyntick_observe::trace::events::consequences;
use dyntick_stats::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many chains of causation, and pieces of evidence, are told of one cause.
const MOST_CHAINS: usize = 3;
const MOST_EVIDENCE: usize = 3;

/// What interrupted the recorded CPUs, why, and what fixes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// The kernel that was recorded.
    pub kernel: String,
    /// The command that ran meanwhile.
    pub command: Vec<String>,
    /// Length of the recording, s.
    pub seconds: f64,
    /// The recorded CPUs, in order.
    pub cpus: Vec<CpuFindings>,
    /// Events that were lost, by CPU: where there are any, counts are too low and causes may be wrong.
    pub lost_events: BTreeMap<u32, u64>,
    /// Records that could not be read.
    pub undecoded: u64,
    /// What limits the findings, in words: events that the kernel lacks, what did not go as asked.
    pub notes: Vec<String>,
}

/// What interrupted one CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuFindings {
    /// The CPU.
    pub cpu: u32,
    /// Periodic ticks.
    pub ticks: u64,
    /// Periodic ticks per second.
    pub ticks_per_second: f64,
    /// All interruptions.
    pub interruptions: u64,
    /// Time in them, ns.
    pub interrupted_ns: u64,
    /// That time as a share of the recording, 0 to 1.
    pub interrupted_share: f64,
    /// The causes: first that with the greatest share of the interruptions or of their time, whichever
    /// is greater; before it a clock that is distrusted, which slows down everything.
    pub causes: Vec<CauseFindings>,
    /// What has no cause.
    pub unattributed: Unattributed,
}

/// One cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseFindings {
    /// Its name, as `workqueue:vmstat_update`.
    pub cause: CauseId,
    /// What happened, for somebody new to the subject.
    pub title: String,
    /// How it comes about.
    pub explanation: &'static str,
    /// Interruptions; none where only their time is known.
    pub count: Option<u64>,
    /// Ticks among them.
    pub ticks: u64,
    /// Their share of all interruptions of the CPU, 0 to 1.
    pub count_share: f64,
    /// Time in them, ns; none where it is not known.
    pub total_ns: Option<u64>,
    /// Its share of the time of all interruptions, 0 to 1.
    pub time_share: f64,
    /// How long they took; none where that is not known of each.
    pub durations_ns: Option<Durations>,
    /// The most frequent chains of causation, from origin to interruption, with their numbers.
    pub chains: Vec<Chain>,
    /// How many other chains there are.
    pub more_chains: usize,
    /// The kernel functions that ran in them, with counts, the most frequent first.
    pub functions: Vec<(Symbol, u64)>,
    /// What removes it or makes it rarer, the most effective first.
    pub fixes: Vec<PrintedFix>,
    /// The kernel's file and function behind it.
    pub source: &'static str,
    /// Whether the origin is named.
    pub attributed: bool,
}

/// A distribution of durations, ns. Nearest rank: each is a value that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Durations {
    pub min: u64,
    pub median: u64,
    pub p99: u64,
    pub max: u64,
}

/// A chain of causation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// Its steps, from origin to interruption.
    pub steps: Vec<String>,
    /// How many interruptions came about in this way.
    pub count: u64,
}

/// Interruptions without a cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Unattributed {
    /// How many.
    pub count: u64,
    /// Their share of all interruptions, 0 to 1.
    pub share: f64,
    /// Their time, ns.
    pub total_ns: u64,
    /// Their share of the time of all interruptions, 0 to 1.
    pub time_share: f64,
    /// The raw events of the longest of them.
    pub evidence: Vec<Evidence>,
    /// Rows of `/proc/interrupts` that grew by more than the trace shows: row, how much it grew.
    pub untraced: Vec<(String, u64)>,
}

/// An interruption as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// When it began, ns from the begin of the recording.
    pub at_ns: u64,
    /// How long it took, ns.
    pub duration_ns: u64,
    /// The way into the kernel.
    pub kind: &'static str,
    /// Its events.
    pub events: Vec<String>,
}

impl Explained {
    /// The findings of this record, of which `self` is the explanation.
    pub fn findings(&self, record: &Record) -> Findings {
        let about = &record.about;
        let (begin, end) = about.window_ns;
        let missing = &record.recording.metadata.missing_events;
        let mut by_cpu: BTreeMap<u32, Vec<&Interruption>> = BTreeMap::new();
        for one in &self.explanation.interruptions {
            by_cpu.entry(one.cpu).or_default().push(one);
        }
        let grown = uncaused::grown(record);
        let of_cpu = |summary: &Summary| {
            let own = by_cpu.get(&summary.cpu).map_or(&[][..], Vec::as_slice);
            of_cpu(record, summary, own, &grown)
        };
        Findings {
            kernel: about.machine.kernel.to_string(),
            command: about.command.clone(),
            seconds: end.saturating_sub(begin) as f64 / 1e9,
            cpus: self.explanation.per_cpu.iter().map(of_cpu).collect(),
            lost_events: self.lost.clone(),
            undecoded: self.undecoded,
            notes: about
                .notes
                .iter()
                .cloned()
                .chain(consequences(missing))
                .chain(uncaused::limits(record))
                .collect(),
        }
    }
}

/// `own` are the interruptions of this CPU, `grown` what was counted beside the trace.
fn of_cpu(record: &Record, summary: &Summary, own: &[&Interruption], grown: &uncaused::Grown) -> CpuFindings {
    let mut by_cause: BTreeMap<&CauseId, Vec<&Interruption>> = BTreeMap::new();
    for interruption in own {
        by_cause.entry(&interruption.cause).or_default().push(interruption);
    }
    let mut causes: Vec<CauseFindings> = by_cause
        .iter()
        .map(|(cause, interruptions)| of_cause(record, summary, cause, interruptions))
        .collect();
    causes.extend(uncaused::counted(record, summary));
    let weight = |cause: &CauseFindings| cause.count_share.max(cause.time_share);
    causes.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| a.cause.cmp(&b.cause)));
    causes.splice(..0, uncaused::clock(record, summary));
    CpuFindings {
        cpu: summary.cpu,
        ticks: summary.ticks,
        ticks_per_second: summary.ticks_per_second,
        interruptions: summary.interruptions,
        interrupted_ns: summary.interrupted_ns,
        interrupted_share: share(summary.interrupted_ns as f64, summary.seconds * 1e9),
        causes,
        unattributed: unattributed(record, summary, own, grown),
    }
}

fn unattributed(
    record: &Record,
    summary: &Summary,
    own: &[&Interruption],
    grown: &uncaused::Grown,
) -> Unattributed {
    let mut unnamed: Vec<&&Interruption> =
        own.iter().filter(|one| !rules::get(&one.cause).names_origin).collect();
    let total_ns = total(unnamed.iter().map(|one| one.duration_ns));
    unnamed.sort_by_key(|one| std::cmp::Reverse(one.duration_ns));
    let evidence = |one: &&&Interruption| Evidence {
        at_ns: one.start_ns.saturating_sub(record.about.window_ns.0),
        duration_ns: one.duration_ns,
        kind: one.kind.name(),
        events: one.evidence.clone(),
    };
    Unattributed {
        count: summary.unattributed,
        share: summary.unattributed_share,
        total_ns,
        time_share: summary.unattributed_time_share,
        evidence: unnamed.iter().take(MOST_EVIDENCE).map(evidence).collect(),
        untraced: uncaused::untraced(grown, summary),
    }
}

/// A sum of durations; those of a trace that somebody made up may be any.
fn total(durations: impl Iterator<Item = u64>) -> u64 {
    durations.fold(0, u64::saturating_add)
}

fn of_cause(record: &Record, summary: &Summary, cause: &CauseId, own: &[&Interruption]) -> CauseFindings {
    let rule = rules::get(cause);
    let total_ns = total(own.iter().map(|one| one.duration_ns));
    let untimed = own.iter().any(|one| matches!(one.kind, Kind::PageFault { .. }));
    let mut chains: BTreeMap<&[String], u64> = BTreeMap::new();
    let mut functions: BTreeMap<&Symbol, u64> = BTreeMap::new();
    for one in own {
        *chains.entry(&one.chain).or_default() += 1;
        one.functions.iter().for_each(|function| *functions.entry(function).or_default() += 1);
    }
    let more_chains = chains.len().saturating_sub(MOST_CHAINS);
    let chain = |(steps, count): (&[String], u64)| Chain { steps: steps.to_vec(), count };
    CauseFindings {
        cause: cause.clone(),
        title: rules::title(cause),
        explanation: rule.explanation,
        count: Some(own.len() as u64),
        ticks: own.iter().filter(|one| one.kind == Kind::Tick).count() as u64,
        count_share: share(own.len() as f64, summary.interruptions as f64),
        total_ns: (!untimed).then_some(total_ns),
        time_share: share(total_ns as f64, summary.interrupted_ns as f64),
        durations_ns: (!untimed).then(|| durations(own)).flatten(),
        chains: most_frequent(chains).into_iter().take(MOST_CHAINS).map(chain).collect(),
        more_chains,
        functions: most_frequent(functions).into_iter().map(|(name, count)| (name.clone(), count)).collect(),
        fixes: fixes(record, summary.cpu, cause, Named::by(own)),
        source: rule.source,
        attributed: rule.names_origin,
    }
}

/// The fixes of a cause, with this machine's CPUs in them and what the trace names.
pub fn fixes(record: &Record, cpu: u32, cause: &CauseId, named: Named) -> Vec<PrintedFix> {
    let machine = &record.about.machine;
    let others: CpuList = machine.cpus.online.difference(&record.about.cpus);
    let place = Place { cpu, recorded: &record.about.cpus, others: &others, named };
    let line = CommandLine::parse(&machine.command_line);
    rules::get(cause)
        .fixes_for(&machine.kernel)
        .map(|fix| place.fill_in(fix).beside(&line, &machine.cpus.online))
        .filter(|fix| !fix.is_in_force(&line, &machine.cpus.online))
        .collect()
}

fn most_frequent<K: Ord>(counts: BTreeMap<K, u64>) -> Vec<(K, u64)> {
    let mut counts: Vec<(K, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

fn durations(own: &[&Interruption]) -> Option<Durations> {
    let histogram: Histogram = own.iter().map(|one| (one.duration_ns, 1)).collect();
    let at = |share| histogram.quantile(share);
    Some(Durations { min: at(0.0)?, median: at(0.5)?, p99: at(0.99)?, max: at(1.0)? })
}

/// A quotient that is 0 where there is nothing to divide by.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
