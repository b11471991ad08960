// SPDX-License-Identifier: GPL-2.0-only
//! From an explanation to findings, cause by cause, the most important first.

use crate::findings::*;
use crate::others::Others;
use crate::sums::{CauseSums, CpuSums, share};
use crate::threads::Followed;
use crate::verdict::{Case, Verdict, isolate};
use crate::{Explained, Ledger, chains, counted_causes, fixes, frames};
use dyntick_explain::rules::named::COMMAND_TASK;
use dyntick_explain::{CauseId, Summary, rules};
use dyntick_model::{Map, Symbol};
use dyntick_trace::events::consequences;
use std::cmp::Reverse;

impl Explained<'_> {
    /// The findings about the record.
    pub fn findings(&self) -> Findings {
        let about = self.about;
        let (begin, end) = about.window_ns;
        let (grown, none) = (counted_causes::grown(about), CpuSums::default());
        let of_cpu =
            |summary: &Summary| self.of_cpu(summary, self.sums.of(summary.cpu).unwrap_or(&none), &grown);
        let cpus: Vec<CpuFindings> = match self.followed {
            Some(_) => Vec::new(),
            None => self.per_cpu.iter().map(of_cpu).collect(),
        };
        let threads = self.followed.as_ref().map(|followed| self.of_threads(followed));
        let ledger = self.ledger();
        let sections = cpus.iter().map(|cpu| &cpu.section).chain(threads.iter().map(|of| &of.section));
        let verdict = self.verdict(sections, ledger.as_ref());
        Findings {
            kernel: about.machine.kernel.to_string(),
            clock: about.machine.clock,
            command: about.command.clone(),
            seconds: end.saturating_sub(begin) as f64 / 1e9,
            verdict,
            cpus,
            threads,
            ledger,
            source: about.foreign.as_ref().map(|foreign| foreign.source.clone()),
            lost_events: self.lost.clone(),
            offline: about.offline.clone(),
            undecoded: self.undecoded,
            notes: about
                .remarks()
                .chain(consequences(self.missing_events))
                .chain(counted_causes::limits(about))
                .collect(),
        }
    }

    fn verdict<'f>(&self, sections: impl Iterator<Item = &'f Section>, ledger: Option<&Ledger>) -> Verdict {
        let about = self.about;
        let machine = &about.machine.cpus;
        let (begin, end) = about.window_ns;
        let threads = ledger.map_or(0, |ledger| ledger.threads);
        // Threads that were selected are not all that the command started.
        let command = if self.followed.is_some() { &[][..] } else { &about.command };
        Case {
            ledger,
            causes: sections.flat_map(Section::losses).collect(),
            cpus_ns: end.saturating_sub(begin) * about.cpus.iter().count() as u64,
            quiet: machine.are_quiet(&about.cpus),
            all_cpus: machine.online.is_subset(&about.cpus),
            turns: about.machine.has_turns(),
            isolate: isolate(machine, &about.cpus, threads, command),
            explain: None,
        }
        .verdict()
    }

    /// The time of the threads of the command, or of `--of`; `None` if there is neither.
    pub fn ledger(&self) -> Option<Ledger> {
        let (accounts, more) = self.accounts.as_ref()?;
        Some(crate::ledger::findings(accounts, *more, self.about, self.parents.started_by(accounts)))
    }

    /// The findings about a CPU. `own` are its interruptions, `grown` the counters in addition to the trace.
    fn of_cpu(&self, summary: &Summary, own: &CpuSums, grown: &counted_causes::Grown) -> CpuFindings {
        let about = self.about;
        let mut causes = listed(self.others(), summary, own);
        causes.splice(..0, counted_causes::clock(about, summary));
        let shows_ticks = about.recorded().has_hrtimers();
        CpuFindings {
            cpu: summary.cpu,
            ticks: shows_ticks.then_some(summary.ticks),
            ticks_per_second: shows_ticks.then_some(summary.ticks_per_second),
            section: section(summary, summary.seconds * 1e9, causes, self.unattributed(summary, own, grown)),
        }
    }

    fn others(&self) -> Others<'_> {
        Others { about: self.about, parents: &self.parents }
    }

    fn of_threads(&self, followed: &Followed) -> ThreadFindings {
        let Followed { selected, sums, cpus, threads, ran_ns, waited_ns } = followed;
        let all = || sums.causes.values();
        let sum = |of: fn(&CauseSums) -> u64| all().map(of).fold(0, u64::saturating_add);
        let unnamed = sums.causes.iter().filter(|(cause, _)| !rules::get(cause).names_origin);
        let unnamed: u64 = unnamed.map(|(_, sums)| sums.interruptions).sum();
        // Fixes are for the CPU on which the threads were interrupted most often.
        let cpu = cpus.iter().max_by_key(|(cpu, count)| (**count, Reverse(**cpu))).map_or(0, |(cpu, _)| *cpu);
        let (interruptions, interrupted_ns) = (sum(|own| own.interruptions), sum(|own| own.interrupted_ns));
        let summary = Summary {
            cpu,
            interruptions,
            interrupted_ns,
            page_faults: sum(|own| own.page_faults),
            other_tasks: sum(|own| own.count - own.interruptions - own.page_faults - own.command_tasks),
            other_tasks_ns: sum(|own| {
                own.total_ns.saturating_sub(own.interrupted_ns).saturating_sub(own.command_ns)
            }),
            command_tasks: sum(|own| own.command_tasks),
            command_tasks_ns: sum(|own| own.command_ns),
            ..Summary::default()
        };
        let unattributed = Unattributed {
            count: unnamed,
            share: share(unnamed as f64, interruptions as f64),
            total_ns: sums.unnamed_ns,
            time_share: share(sums.unnamed_ns as f64, interrupted_ns as f64),
            ..Unattributed::default()
        };
        let causes = ranked(traced(self.others(), &summary, sums));
        ThreadFindings {
            of: selected.of.to_string(),
            threads: threads.len() as u64,
            cpus: cpus.keys().copied().collect(),
            ran_ns: *ran_ns,
            waited_ns: *waited_ns,
            ticks: self.about.recorded().has_hrtimers().then(|| sum(|own| own.ticks)),
            section: section(&summary, ran_ns.saturating_add(*waited_ns) as f64, causes, unattributed),
        }
    }

    fn unattributed(&self, summary: &Summary, own: &CpuSums, grown: &counted_causes::Grown) -> Unattributed {
        let longest = self.evidence.get(&summary.cpu).into_iter().flatten();
        let evidence = |one: &dyntick_explain::Evidence| Evidence {
            at_ns: one.start_ns.saturating_sub(self.about.window_ns.0),
            duration_ns: one.duration_ns,
            kind: one.kind.name(),
            events: one.lines(),
        };
        Unattributed {
            count: summary.unattributed,
            share: summary.unattributed_share,
            total_ns: own.unnamed_ns,
            time_share: summary.unattributed_time_share,
            evidence: longest.map(evidence).collect(),
            untraced: counted_causes::untraced(grown, summary),
        }
    }
}

/// The interruptions of a summary; `ns` is the time of which theirs is a share.
fn section(summary: &Summary, ns: f64, causes: Vec<CauseFindings>, unattributed: Unattributed) -> Section {
    Section {
        interruptions: summary.interruptions,
        interrupted_ns: summary.interrupted_ns,
        interrupted_share: share(summary.interrupted_ns as f64, ns),
        page_faults: summary.page_faults,
        other_tasks: summary.other_tasks,
        other_tasks_ns: summary.other_tasks_ns,
        command_tasks: summary.command_tasks,
        command_tasks_ns: summary.command_tasks_ns,
        causes,
        unattributed,
    }
}

/// The causes of a CPU, including those that are only counted in addition to the trace.
fn listed(others: Others<'_>, summary: &Summary, own: &CpuSums) -> Vec<CauseFindings> {
    let mut causes = traced(others, summary, own);
    causes.extend(counted_causes::counted(others.about, summary));
    ranked(causes)
}

/// The causes in the trace, without shares and in no order.
fn traced(others: Others<'_>, summary: &Summary, own: &CpuSums) -> Vec<CauseFindings> {
    own.causes.iter().map(|(cause, sums)| of_cause(others, summary, cause, sums)).collect()
}

fn ranked(mut causes: Vec<CauseFindings>) -> Vec<CauseFindings> {
    share_out(&mut causes);
    rank(&mut causes);
    causes
}

/// Computes the shares of each cause of the number and of the time of all causes in this list, some of which are only
/// counted in addition to the trace. A cause without a number, or without a time, has a share of 0, and so have page
/// faults and the command's own tasks in the number.
fn share_out(causes: &mut [CauseFindings]) {
    let count = |cause: &CauseFindings| match cause.is_from_outside() {
        true => cause.count.unwrap_or(0) as f64,
        false => 0.0,
    };
    let ns = |cause: &CauseFindings| cause.total_ns.unwrap_or(0) as f64;
    let counts: f64 = causes.iter().map(count).sum();
    let all_ns: f64 = causes.iter().map(ns).sum();
    for cause in causes {
        cause.count_share = share(count(cause), counts);
        cause.time_share = share(ns(cause), all_ns);
    }
}

/// Sorts by time, then by ticks, then by number. Causes that are only counted, e.g. SMIs, have no time and follow those
/// that have one. Last are causes from inside: the time slices of the command's own tasks, and page faults, which
/// mostly come from the start of a program. Page faults without end are first.
fn rank(causes: &mut [CauseFindings]) {
    causes.sort_by(|a, b| {
        let order = |cause: &CauseFindings| {
            (Origin::of(cause), cause.total_ns, cause.ticks, cause.interruptions, cause.count)
        };
        order(b).cmp(&order(a)).then_with(|| a.cause.cmp(&b.cause))
    });
}

/// The side from which a cause comes, in ascending order of importance.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    PageFault,
    Command,
    Outside,
    ManyPageFaults,
}

/// The number of page faults from which on they are a large cause, though their time is not known: some µs each.
pub const MANY_FAULTS: u64 = 10_000;

impl Origin {
    fn of(cause: &CauseFindings) -> Self {
        if cause.is_from_outside() {
            Origin::Outside
        } else if rules::get(&cause.cause) == COMMAND_TASK {
            Origin::Command
        } else if cause.count >= Some(MANY_FAULTS) {
            Origin::ManyPageFaults
        } else {
            Origin::PageFault
        }
    }
}

/// The findings about one cause, without its shares, which depend on the other causes.
fn of_cause(others: Others<'_>, summary: &Summary, cause: &CauseId, own: &CauseSums) -> CauseFindings {
    let rule = rules::get(cause);
    let timed = !own.untimed;
    let (chains, more_chains) = chains::foremost(own.chains.counts());
    CauseFindings {
        cause: cause.clone(),
        title: rules::title(cause),
        explanation: rule.explanation,
        count: Some(own.count),
        interruptions: own.interruptions,
        ticks: own.ticks,
        count_share: 0.0,
        total_ns: timed.then_some(own.total_ns),
        time_share: 0.0,
        durations_ns: timed.then(|| durations(own)).flatten(),
        chains,
        more_chains: more_chains + own.chains.given_up(),
        stacks: frames::folded(others.about, own.stacks.counts()),
        functions: most_frequent(&own.functions),
        fixes: fixes(others.about, summary.cpu, cause, &others.named(&own.named)),
        source: rule.source,
        attributed: rule.names_origin,
    }
}

fn most_frequent(counts: &Map<Symbol, u64>) -> Vec<(Symbol, u64)> {
    let mut counts: Vec<(Symbol, u64)> = counts.iter().map(|(name, count)| (name.clone(), *count)).collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

fn durations(own: &CauseSums) -> Option<Durations> {
    let (histogram, (min, max)) = (own.durations.histogram(), own.durations.ends()?);
    let at = |share| histogram.quantile(share);
    Some(Durations { min, median: at(0.5)?, p99: at(0.99)?, max })
}

#[cfg(test)]
mod tests;
